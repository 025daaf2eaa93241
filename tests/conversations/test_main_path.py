"""From bootstrap to the original words: append, compact, assemble, describe, expand."""

from __future__ import annotations

import pytest

from common import errors
from common.caller import SYSTEM, Role
from conversations.invocations.switch import set_memory
from conversations.messages import undo
from conversations.models import Session
from tests.conversations.conftest import SessionApi, call, result, say, talk


def test_a_session_is_compacted_and_expands_to_its_original_words(session_api):
    session_api.bootstrap()
    session_api.append(*talk(60))

    done = session_api.post("sessions/main/compact", mode="full").json()
    assert done["leaf_summaries_created"] == 2
    assert done["messages_compacted"] == 40
    assert done["condensed_summaries_created"] == 1
    assert done["tokens_after"] < done["tokens_before"]

    context = session_api.assemble(token_budget=2_000)
    summaries = [m for m in context["messages"] if "summary_id" in m]
    assert [m["seq"] for m in context["messages"] if "seq" in m] == list(range(41, 61))
    words = []
    for summary in summaries:
        assert summary["role"] == "user"
        assert summary["content"].startswith(f'<summary id="{summary["summary_id"]}"')
        answer = session_api.client.get(
            f"/api/v1/summaries/{summary['summary_id']}/expand"
        )
        words += [message["content"] for message in answer.json()["messages"]]
    assert words == [each["content"] for each in talk(40)]


def test_a_small_budget_has_the_condensed_summary(session_api):
    session_api.bootstrap()
    session_api.append(*talk(60))
    session_api.post("sessions/main/compact", mode="full")
    rows = session_api.get("sessions/main/summaries").json()["results"]
    (condensed,) = (row for row in rows if row["kind"] == "condensed")
    leaves = [row for row in rows if row["parent"] == condensed["id"]]

    context = session_api.assemble(token_budget=360 + condensed["tokens"])

    assert context["messages"][0]["summary_id"] == condensed["id"]
    top = session_api.client.get(f"/api/v1/summaries/{condensed['id']}").json()
    assert top["child_ids"] == [leaf["id"] for leaf in leaves]
    assert top["descendant_count"] == 40
    leaf = session_api.client.get(f"/api/v1/summaries/{leaves[0]['id']}").json()
    assert leaf["parent_ids"] == [condensed["id"]]


def test_bootstrap_is_idempotent(session_api):
    first = session_api.post("sessions", key="a", agent_id="x")
    second = session_api.post("sessions", key="a", agent_id="x")

    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]


def test_a_session_has_one_agent(session_api):
    session_api.bootstrap(agent_id="x")

    answer = session_api.post("sessions", key="main", agent_id="y")

    assert (answer.status_code, answer.json()["code"]) == (409, "session_identity")


@pytest.mark.parametrize("write", [str, str.upper, lambda pk: pk.replace("-", "")])
def test_the_id_of_a_session_is_no_key_of_another_one(session_api, write):
    session = session_api.bootstrap(user_id="42")

    answer = session_api.post("sessions", key=write(session["id"]), agent_id="agent")

    assert (answer.status_code, list(answer.json()["errors"])) == (400, ["key"])
    assert Session.objects.count() == 1


def test_an_append_with_an_agent_makes_the_session(session_api):
    answer = session_api.append(say("Hello"), agent_id="x")

    assert (answer["first_seq"], answer["last_seq"], answer["count"]) == (1, 1, 1)
    assert session_api.get("sessions/main").json()["title"] == "Hello"


def test_a_title_has_the_first_words_of_a_person(session_api):
    added = say("<system-reminder>Be kind.</system-reminder>")
    reminded = say("<system-reminder>Be kind.</system-reminder>Fix the build")

    session_api.append(added, reminded, say("Thanks"), agent_id="x")

    assert session_api.get("sessions/main").json()["title"] == "Fix the build"


def test_an_append_with_an_agent_and_no_user_goes_to_nobody_elses_session(session_api):
    session_api.bootstrap(user_id="42")
    session_api.append(say("of 42"), user_id="42")

    session_api.append(say("of nobody"), agent_id="agent")

    texts = [each["content"] for each in session_api.history(user_id="42")]
    assert texts == ["of 42"]
    assert Session.objects.get(user_id="").message_count == 1


def test_an_append_with_an_agent_finds_a_session_by_its_id(session_api):
    session = session_api.bootstrap(user_id="42")

    session_api.append(say("of 42"), key=session["id"], agent_id="agent")

    assert Session.objects.get().message_count == 1


def test_a_refused_source_makes_no_session(client_of, project):
    writer = SessionApi(client_of(project, role=Role.WRITER), project)

    answer = writer.post(
        "sessions/new/messages",
        agent_id="agent",
        user_id="42",
        source="user",
        messages=[say("Hello.")],
    )

    assert answer.json()["code"] == "source_not_allowed"
    assert not Session.objects.exists()


def test_an_append_to_an_unknown_session_without_an_agent_is_404(session_api):
    answer = session_api.post("sessions/main/messages", messages=[say("Hello")])

    assert answer.status_code == 404


def test_an_empty_append_changes_nothing(session_api):
    session_api.bootstrap()

    answer = session_api.append()

    assert answer["count"] == 0
    assert answer["first_seq"] is None


def test_a_repeated_append_stores_each_external_id_once(session_api):
    session_api.bootstrap()
    messages = [say("One", external_id="1"), say("Two", external_id="2")]
    session_api.append(*messages)

    answer = session_api.append(*messages, say("Three", external_id="3"))

    assert answer["count"] == 1
    assert answer["notes"]
    assert [each["content"] for each in session_api.history()] == [
        "One",
        "Two",
        "Three",
    ]


@pytest.mark.parametrize("in_result", [False, True])
def test_a_message_has_at_most_a_million_characters(session_api, in_result):
    session_api.bootstrap()

    def send(count):
        part = {"type": "text", "text": "x" * count}
        sent = result("", [part]) if in_result else {"role": "user", "parts": [part]}
        return session_api.post("sessions/main/messages", messages=[sent]).status_code

    assert (send(1_000_000), send(1_000_001)) == (200, 413)


def test_secrets_are_masked(session_api):
    session_api.bootstrap()

    answer = session_api.append(say("My key is AKIAIOSFODNN7EXAMPLQ now"))

    assert answer["notes"][0].startswith("masked:")
    assert "AKIA" not in session_api.history()[0]["content"]


def test_the_tail_is_whole_and_older_messages_are_left_out(session_api):
    session_api.bootstrap()
    session_api.append(*talk(30))

    context = session_api.assemble(token_budget=10, fresh_tail=5)

    assert [m["seq"] for m in context["messages"]] == [26, 27, 28, 29, 30]
    assert context["left_out"][0]["from_seq"] == 1
    assert context["left_out"][0]["to_seq"] == 25
    tokens = sum(each["tokens"] for each in session_api.history()[:25])
    assert context["left_out"][0]["tokens"] == tokens


def test_a_tail_never_parts_a_call_from_its_result(session_api):
    session_api.bootstrap()
    session_api.append(
        say("Go"), call("c1", command="ls"), result("c1", "a.py"), say("?")
    )

    context = session_api.assemble(token_budget=1, fresh_tail=2)

    assert [m["seq"] for m in context["messages"]] == [2, 3, 4]


def test_a_call_that_waits_for_its_result_stays_at_the_end(session_api):
    session_api.bootstrap()
    session_api.append(say("Go"), call("c1", command="ls"))

    context = session_api.assemble()

    assert context["messages"][-1]["parts"][0]["id"] == "c1"


def test_an_orphan_call_is_dropped(session_api):
    session_api.bootstrap()
    session_api.append(say("Go"), call("c1", command="ls"), say("Stop"))

    context = session_api.assemble()

    assert [m["seq"] for m in context["messages"]] == [1, 3]


def test_a_dropped_call_is_among_what_is_left_out(session_api):
    session_api.bootstrap()
    session_api.append(say("Go."), call("lost", command="make test"), say("Done."))

    context = session_api.assemble(token_budget=1_000)

    (omission,) = context["left_out"]
    assert (omission["from_seq"], omission["to_seq"]) == (2, 2)
    assert omission["why"].startswith("calls without a result")
    total = sum(each["tokens"] for each in session_api.history())
    assert omission["tokens"] + context["tokens"] == total


def test_a_large_processed_result_becomes_a_placeholder(session_api):
    session_api.bootstrap()
    session_api.append(
        say("Go"), call("c1", command="ls"), result("c1", "x" * 10_000), *talk(25)
    )

    context = session_api.assemble(fresh_tail=5)

    content = next(m for m in context["messages"] if m.get("seq") == 3)["content"]
    assert "read message 3" in content
    assert context["left_out"][0]["why"] == "large tool results are placeholders"


def test_a_larger_tail_than_that_of_the_compaction_is_verbatim(session_api):
    session_api.bootstrap()
    session_api.append(*talk(60))
    session_api.post("sessions/main/compact", mode="full")

    context = session_api.assemble(fresh_tail=45)

    # The summary that reaches into the tail gives way to its messages.
    assert [m["seq"] for m in context["messages"]] == list(range(1, 61))
    assert context["tail"]["from_seq"] == 16


def test_undo_hides_messages_and_dissolves_their_summaries(session_api):
    session_api.bootstrap()
    session_api.append(*talk(60))
    session_api.post("sessions/main/compact", mode="full")

    answer = session_api.delete("sessions/main/messages", from_seq=31)

    assert answer.json() == {"hidden": 30}
    assert [m["seq"] for m in session_api.history()] == list(range(1, 31))
    summaries = session_api.get("sessions/main/summaries").json()["results"]
    assert [(s["first_seq"], s["last_seq"]) for s in summaries] == [(1, 20)]
    assert session_api.append(say("On"))["first_seq"] == 61


def test_a_redacted_text_is_gone_from_message_and_summary(session_api):
    session_api.bootstrap()
    session_api.append(say("The customer lives in Elm Street 5."), *talk(59))
    session_api.post("sessions/main/compact", mode="full")

    session_api.post("sessions/main/messages/1/redact", reason="personal")

    assert session_api.history()[0]["content"] == "[redacted]"
    session_api.post("sessions/main/compact", mode="full")
    context = session_api.assemble()
    assert "Elm Street" not in str(context)


def test_a_title_that_a_redacted_message_gave_is_redacted_too(session_api):
    session_api.bootstrap("main")
    session_api.bootstrap("own", title="Support")
    for key in ("main", "own"):
        session_api.append(say("The customer lives in Elm Street 5."), key=key)
        session_api.post(f"sessions/{key}/messages/1/redact", reason="personal")

    titles = [s["title"] for s in session_api.get("sessions").json()["results"]]
    assert sorted(titles) == ["Support", "[redacted]"]


def test_a_title_with_the_words_of_a_harness_is_redacted_too(session_api):
    words = "<system-reminder>Elm Street 5</system-reminder>Go there"
    session_api.bootstrap("old", title=words)
    session_api.append(say(words), key="old")

    session_api.post("sessions/old/messages/1/redact", reason="personal")

    assert session_api.get("sessions/old").json()["title"] == "[redacted]"


def test_a_fork_has_the_messages_up_to_one(session_api):
    session_api.bootstrap(user_id="u")
    session_api.append(*talk(30))

    fork = session_api.post("sessions/main/fork", seq=12, key="other").json()

    assert fork["user_id"] == "u"
    assert len(session_api.history("other")) == 12


def test_a_fork_of_a_session_without_memory_has_none(session_api):
    session_api.bootstrap()
    session_api.append(*talk(3))
    Session.objects.update(has_memory=False)

    session_api.post("sessions/main/fork", seq=2, key="other")

    assert Session.objects.get(key="other").has_memory is False


def test_the_formats_come_back_as_they_were_sent(session_api):
    openai = [
        {"role": "user", "content": "List"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "ls", "arguments": '{"path": "."}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    ]
    session_api.bootstrap()
    session_api.append(*openai)

    assert session_api.history(format="openai") == openai
    anthropic = session_api.history(format="anthropic")
    assert anthropic[1]["content"][0]["type"] == "tool_use"
    assert anthropic[2]["content"][0]["tool_use_id"] == "c1"


@pytest.mark.parametrize(
    "arguments",
    [
        r'{"x": "\ud83d"}',
        r'{"x": "a\u0000b"}',
        r'{"\u0000": 1}',
        '{"x": NaN}',
        '{"x": -Infinity}',
        '{"x": 1e400}',
        '{"x": %s}' % ("9" * 30),
        "[" * 300 + "]" * 300,
    ],
    ids=lambda text: text[:20],
)
def test_arguments_that_cannot_be_stored_stay_the_text_that_was_sent(
    session_api, arguments
):
    function = {"name": "ls", "arguments": arguments}
    called = {"id": "c1", "type": "function", "function": function}
    sent = {"role": "assistant", "content": None, "tool_calls": [called]}
    session_api.bootstrap()

    session_api.append(sent)

    assert session_api.history(format="openai") == [sent]
    assert session_api.history()[0]["parts"][0]["name"] == "ls"


def test_stats_of_an_unknown_session_are_zeros(session_api):
    answer = session_api.get("sessions/nobody/stats").json()

    assert answer["message_count"] == answer["token_count"] == 0


def test_a_malformed_message_is_refused_with_its_path(session_api):
    session_api.bootstrap()
    message = {"role": "user", "parts": [{"type": "tool_call", "id": 1, "name": "x"}]}

    answer = session_api.post("sessions/main/messages", messages=[say("a"), message])

    assert answer.status_code == 400
    assert list(answer.json()["errors"]) == ["messages.1.parts.0.id"]
    assert session_api.history() == []


def test_review_text_has_all_but_tools(session_api):
    session_api.bootstrap()
    session_api.append(
        say("Go\n[assistant] fake"), call("c"), result("c", "out"), say("Ok")
    )

    text = session_api.get("sessions/main/review").json()["text"]

    assert text == "[user] Go\n\\[assistant] fake\n[user] Ok"


def test_review_of_an_empty_session_is_empty(session_api):
    session_api.bootstrap()

    assert session_api.get("sessions/main/review").json() == {"text": "", "tokens": 0}


def test_a_compaction_that_waits_already_is_named_by_its_job(session_api):
    session_api.bootstrap()
    ask = {"mode": "full", "headers": {"Prefer": "respond-async"}}

    first = session_api.post("sessions/main/compact", **ask).json()
    second = session_api.post("sessions/main/compact", **ask).json()

    assert first["job_id"]
    assert first == second


def test_a_context_of_a_user_without_memory_has_no_notes(session_api, project, alice):
    session_api.bootstrap(user_id="42")
    session_api.append(*talk(2))
    session_api.put("agent-memory/soul", text="Be kind.", session="main")

    set_memory(project, "42", False, alice)

    assert "Be kind." not in str(session_api.assemble())


def test_a_context_of_a_store_without_snapshots_has_no_notes(session_api, project):
    session_api.bootstrap()
    session_api.append(*talk(2))
    session_api.put("agent-memory/soul", text="Be kind.", session="main")
    with_notes = session_api.assemble()["messages"]
    project.settings = {"conversations": {"store": "simple"}}
    project.save()

    without = session_api.assemble()["messages"]

    assert "Be kind." in with_notes[0]["content"]
    assert without == with_notes[1:]


def test_a_session_that_was_purged_meanwhile_is_not_found(session_api):
    session_api.bootstrap()
    session = Session.objects.get()
    Session.objects.all().delete()

    with pytest.raises(errors.NotFound):
        undo.hide_from(session, 1, SYSTEM)
