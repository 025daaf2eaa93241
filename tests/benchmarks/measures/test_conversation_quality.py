from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from benchmarks.datasets import conversation_turns
from projects.models import Project

RUNS = {
    "flights": [
        {
            "goal": "You are mia_li_3668. Move the flight to Seattle to a later day.",
            "result": "The flight to Seattle is moved to the next morning.",
            "tool_usage": [
                {
                    "tool": "get_user",
                    "arguments": '{"user_id": "mia_li_3668"}',
                    "result": "mia_li_3668 holds reservation HATHAT to Seattle",
                }
            ],
        },
        {
            "goal": "You are mia_li_3668. Move the flight to Seattle to a later day.",
            "result": "The airline has no later flight to offer.",
            "tool_usage": [
                {
                    "tool": "get_user",
                    "arguments": '{"user_id": "mia_li_3668"}',
                    "result": "mia_li_3668 holds reservation HATHAT to Seattle",
                }
            ],
        },
    ],
    "repairs": [
        {
            "goal": "Count the letters of a text in histogram().",
            "result": "def histogram(text): return Counter(text)",
            "reflections": ["The function counts words instead of the letters."],
        },
        {"goal": "Short.", "result": "ok", "tool_usage": []},
    ],
}


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    for name, rows in RUNS.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


@pytest.fixture
def turns(data):
    return conversation_turns.load_turns(data, 100)


def answers_to(collection, text):
    """Return the grades of the query that begins with the text."""
    (query,) = [each for each in collection.queries if each.text.startswith(text)]
    texts = {document.id: document.text for document in collection.documents}
    return {texts[document] for document in query.grades}


class TestTurns:
    def test_every_turn_begins_with_its_speaker_and_is_unique(self, turns):
        assert [turn.line for turn in turns] == [
            "user: You are mia_li_3668. Move the flight to Seattle to a later day.",
            'assistant: get_user {"user_id": "mia_li_3668"}',
            "tool: mia_li_3668 holds reservation HATHAT to Seattle",
            "assistant: The flight to Seattle is moved to the next morning.",
            "assistant: The airline has no later flight to offer.",
            "user: Count the letters of a text in histogram().",
            "assistant: The function counts words instead of the letters.",
            "assistant: def histogram(text): return Counter(text)",
        ]

    def test_runs_with_one_goal_are_one_conversation(self, turns):
        assert [turn.conversation for turn in turns] == [0] * 5 + [1] * 3

    def test_a_long_message_is_cut_between_sentences(self, data):
        goal = " ".join(f"Sentence number {n} of a long goal." for n in range(40))
        path = data / "traces" / "flights.jsonl"
        path.write_text(json.dumps({"goal": goal, "result": "x" * 1_000}))

        *pieces, result = [
            t.text
            for t in conversation_turns.load_turns(data, 100)
            if t.conversation == 0
        ]
        assert [len(pieces), len(result)] == [
            conversation_turns.MAX_TURNS,
            conversation_turns.MAX_CHARACTERS,
        ]
        assert all(piece.endswith("goal.") for piece in pieces)
        assert max(map(len, pieces)) <= conversation_turns.SHORT

    def test_it_stops_at_the_given_number(self, data):
        assert len(conversation_turns.load_turns(data, 3)) == 3


class TestQueries:
    def test_an_opening_asks_for_the_rest_of_its_conversation(self, turns):
        assert answers_to(
            conversation_turns.opening_queries(turns), "Count the letters"
        ) == {
            "assistant: The function counts words instead of the letters.",
            "assistant: def histogram(text): return Counter(text)",
        }

    def test_a_reply_asks_for_what_it_answers(self, turns):
        replies = conversation_turns.reply_queries(turns)

        assert answers_to(replies, "The flight to Seattle is moved") == {
            "tool: mia_li_3668 holds reservation HATHAT to Seattle"
        }
        assert answers_to(replies, "The function counts") == {
            "user: Count the letters of a text in histogram()."
        }

    def test_nobody_asks_with_a_call(self, turns):
        assert not [
            q
            for q in conversation_turns.reply_queries(turns).queries
            if "get_user" in q.text
        ]


@pytest.mark.django_db(transaction=True)
class TestCommand:
    def test_it_compares_the_lanes_with_the_other_bm25(self, data, tmp_path):
        numbers, out = tmp_path / "numbers.json", StringIO()
        paths = [f"--data={data}", f"--json={numbers}"]
        call_command("benchmark", "conversation", "--in-place", *paths, stdout=out)

        result = json.loads(numbers.read_text())
        opening, reply = result["sets"]
        assert (result["turns"], opening["queries"], reply["queries"]) == (8, 2, 3)
        for ranker in ("bm25s", "keyword", "hybrid"):
            assert opening[ranker]["ndcg"] > 0.5
            assert 0 < reply[ranker]["ndcg"] <= reply[ranker]["recall"] <= 1
        assert "opening" in out.getvalue()
        assert not Project.objects.exists()

    def test_it_says_where_recordings_are_expected(self, tmp_path):
        with pytest.raises(CommandError, match="no recorded run"):
            call_command(
                "benchmark", "conversation", "--in-place", f"--data={tmp_path}"
            )
