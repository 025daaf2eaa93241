"""Long texts are found by every part of them."""

from __future__ import annotations

import pytest

from inference.embedding import active_model
from inference.embedding.chunks import find_spans
from inference.embedding.fake import outage
from memories.lifecycle import update
from memories.models import MemoryVector, PossibleDuplicate
from memories.store import write
from memories.store.drafts import Draft
from playbook.models import EntryVector
from search import semantic

BEGINNING = " ".join(f"beginning{n}" for n in range(150))
LATE = "the turbine overheats when the valve sticks"


def long_text(name, end=LATE):
    middle = " ".join(f"{name}{n}" for n in range(150))
    return f"{BEGINNING}\n\n{middle}\n\n{end}."


@pytest.fixture
def embedded(remember, run_jobs):
    def store(*contents, **fields):
        memories = [remember(content, **fields) for content in contents]
        run_jobs()
        return memories

    return store


@pytest.fixture
def ids(search):
    def ask(query, **fields):
        return [hit.memory.pk for hit in search(query, mode="semantic", **fields)]

    return ask


class TestLongMemories:
    def test_the_answer_comes_at_once_and_a_job_embeds_every_chunk(
        self, alice_api, project, run_jobs
    ):
        body = {"project_id": str(project.pk), "content": long_text("a")}
        body["memory_type"] = "learning"

        answer = alice_api.post("/api/v1/memories", body).json()

        assert answer["searchable"] == {"keyword": True, "semantic": False}
        assert "a job embeds long texts" in " ".join(answer["notes"])
        run_jobs()
        chunks = MemoryVector.objects.order_by("chunk").values_list("chunk", flat=True)
        assert list(chunks) == list(range(len(chunks)))
        assert len(chunks) > 2

    def test_it_is_found_by_a_sentence_of_its_end(self, embedded, remember, ids):
        for n in range(20):
            remember(f"nothing alike{n} at {n} o'clock")
        (wanted,) = embedded(long_text("a"))

        assert ids(LATE)[0] == wanted.pk

    def test_candidates_are_different_memories(
        self, embedded, remember, ids, monkeypatch
    ):
        monkeypatch.setattr(semantic, "NEAREST", 6)
        monkeypatch.setattr(semantic, "MIN_CANDIDATES", 5)
        repeated = " ".join([LATE] * 200)
        texts = [f"{name} {repeated}" for name in ("one", "two", "three")]
        crowd = embedded(*texts)
        short = [remember(f"turbine number {n}") for n in range(4)]

        found = ids(LATE, limit=7)

        assert len(found) == len(set(found)) == 7
        assert set(found) == {memory.pk for memory in [*crowd, *short]}

    def test_the_score_is_that_of_the_nearest_chunk(self, embedded, search):
        (memory,) = embedded(long_text("a"))

        (hit,) = search(LATE, mode="semantic")

        asked = active_model.embed_query(LATE)
        nearest = max(row.vector.cosine(asked) for row in memory.vectors.all())
        assert hit.score == pytest.approx(nearest, abs=0.01)

    def test_each_vector_knows_the_part_of_the_text_that_it_stands_for(self, embedded):
        memory, short = embedded(long_text("a"), "Two words.")

        spans = find_spans(memory.text, active_model.get().token_starts)
        stored = [(row.starts_at, row.ends_at) for row in memory.vectors.all()]
        assert stored == spans
        assert [row.vector.span for row in memory.vectors.all()] == spans
        assert [row.starts_at for row in short.vectors.all()] == [None]

    def test_an_extract_is_cut_from_the_nearest_chunk_without_a_tokenizer(
        self, embedded, search, monkeypatch
    ):
        embedded(long_text("a"))
        (hit,) = search(LATE, mode="semantic")

        def refuse(self, text):
            raise AssertionError("The text is tokenized again.")

        with monkeypatch.context() as patch:
            patch.setattr(type(active_model.get()), "token_starts", refuse)
            (again,) = search(LATE, mode="semantic")
        MemoryVector.objects.update(starts_at=None, ends_at=None)
        (of_an_older_release,) = search(LATE, mode="semantic")

        assert "turbine" in hit.snippet
        assert "beginning1 " not in hit.snippet
        assert again.snippet == of_an_older_release.snippet == hit.snippet

    def test_a_span_beyond_a_text_that_became_shorter_hides_nothing(
        self, embedded, search
    ):
        embedded(long_text("a"))
        MemoryVector.objects.filter(chunk__gt=0).update(
            starts_at=90_000, ends_at=91_000
        )

        (hit,) = search(LATE, mode="semantic")

        assert hit.snippet

    def test_a_shorter_text_leaves_no_chunk_behind(self, embedded, alice):
        (memory,) = embedded(long_text("a"))

        update.update_memory(memory, {"content": "Now it is short."}, alice, None)

        assert [row.chunk for row in memory.vectors.all()] == [0]

    def test_a_longer_text_is_embedded_anew(self, remember, run_jobs, alice, ids):
        memory = remember("It was short.")

        update.update_memory(memory, {"content": long_text("a")}, alice, None)
        run_jobs()

        assert memory.vectors.count() > 2
        assert ids(LATE) == [memory.pk]

    def test_an_outage_only_delays_it(self, remember, run_jobs, ids):
        with outage():
            memory = remember(long_text("a"))
        run_jobs()

        assert ids(LATE) == [memory.pk]

    def test_what_lies_beyond_the_last_chunk_is_said(self, project, alice):
        words = " ".join(f"word{n}" for n in range(5_000))

        draft = Draft(content=words, memory_type="learning")
        receipt = write.store(project, draft, alice)

        assert "found by its words only" in " ".join(receipt.notes)


class TestExtracts:
    def test_it_comes_from_the_nearest_chunk(self, embedded, search):
        embedded(f"{long_text('a', 'nothing here')} {long_text('b')}")

        (hit,) = search(LATE, mode="semantic")

        assert "<mark>turbine</mark>" in hit.snippet
        assert hit.snippet_field == "content"

    @pytest.mark.parametrize("mode", ["keyword", "hybrid"])
    def test_it_comes_from_the_field_that_answers(self, remember, search, mode):
        remember("something about a boat", lessons=LATE, goal="Look at a boat")

        (hit,) = search(LATE, mode=mode)

        assert (hit.snippet_field, "<mark>turbine</mark>" in hit.snippet) == (
            "lessons",
            True,
        )

    def test_without_a_word_of_the_query_it_is_the_content(self, remember, search):
        remember("something about a boat", lessons="Row slowly")

        (hit,) = search("ship", mode="semantic")

        assert (hit.snippet, hit.snippet_field) == ("something about a boat", "content")


class TestFields:
    @pytest.mark.parametrize(
        "fields",
        [
            {"goal": LATE},
            {"result": LATE},
            {"feedback": LATE},
            {"lessons": LATE},
            {"outcome": LATE},
            {"steps": [{"action": "look", "note": [LATE]}]},
        ],
    )
    @pytest.mark.parametrize("mode", ["keyword", "semantic"])
    def test_a_memory_is_found_by_each_of_its_texts(
        self, remember, search, fields, mode
    ):
        remember("something about a bridge")
        wanted = remember("something about a boat", **fields)

        assert search(LATE, mode=mode)[0].memory.pk == wanted.pk

    def test_a_text_with_another_goal_is_found_by_both_goals(self, remember, search):
        first = remember("The job ended.", goal="Deploy billing to the cluster")
        second = remember("The job ended!", goal="Renew certificates of ledger")

        assert second.duplicate_of_id == first.pk
        for words in ("deploy billing", "renew certificates"):
            assert search(words, mode="keyword")[0].memory.pk == first.pk


class TestLongDuplicates:
    def test_a_common_beginning_hides_nothing(self, embedded):
        _, second = embedded(long_text("a"), long_text("b", "another end here"))

        second.refresh_from_db()
        assert not second.is_duplicate

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text.replace(" ", "\n", 40),
            lambda text: text.replace("the turbine", "turbine"),
        ],
    )
    def test_the_same_in_another_form_is_a_duplicate(self, embedded, change):
        text = f"## Overview\n\n{long_text('a')}"

        first, second = embedded(text, change(text))

        second.refresh_from_db()
        assert second.duplicate_of_id == first.pk

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: "\n\n".join(reversed(text.split("\n\n"))),
            lambda text: text.replace("## Overview", "## Summary"),
        ],
    )
    def test_moved_paragraphs_and_other_headings_are_left_to_a_person(
        self, embedded, change
    ):
        text = f"## Overview\n\n{long_text('a')}"

        _, second = embedded(text, change(text))

        second.refresh_from_db()
        assert not second.is_duplicate
        assert PossibleDuplicate.objects.get().why_not_merged

    @pytest.mark.parametrize(
        "end",
        [
            "the turbine does not overheat when the valve sticks",
            "the turbine overheats when the valve sticks after 30 minutes",
            f"{LATE}. Never start it again without asking the engineer first",
        ],
    )
    def test_a_difference_that_a_merge_would_lose_is_left_to_a_person(
        self, embedded, end
    ):
        _, second = embedded(long_text("a"), long_text("a", end))

        second.refresh_from_db()
        assert not second.is_duplicate
        assert PossibleDuplicate.objects.get().why_not_merged

    def test_a_short_text_never_repeats_a_long_one(self, embedded):
        _, second = embedded(long_text("a"), BEGINNING[:900])

        second.refresh_from_db()
        assert not second.is_duplicate


class TestOneTextTwoExperiences:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"outcome": "success"}, {"outcome": "failure"}),
            (
                {"goal": "Ship it", "result": "Done"},
                {"goal": "Ship it", "result": "No"},
            ),
            ({"user_id": "u1"}, {"user_id": "u2"}),
        ],
    )
    def test_they_are_shown_to_a_person(self, remember, one, other):
        text = " ".join(f"word{n}" for n in range(60))
        remember(f"{text} und der Rest", **one)

        second = remember(f"{text} und Rest", **other)

        assert not second.is_duplicate
        assert PossibleDuplicate.objects.filter(memory=second).count() == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cents", "floats"),
        ("memory", "disk"),
        ("utc", "localtime"),
        ("five", "seven"),
    ],
)
def test_another_choice_in_the_same_place_is_shown_to_a_person(remember, one, other):
    """A choice that a merge would lose: quantities, kinds of a value, places."""
    rest = " ".join(f"word{n}" for n in range(60))
    remember(f"Store the amounts of the ledger in {one}. {rest}")

    second = remember(f"Store the amounts of the ledger in {other}. {rest}")

    assert not second.is_duplicate
    assert PossibleDuplicate.objects.filter(memory=second).count() == 1


def test_a_long_entry_has_a_vector_for_each_chunk(alice_api, project, run_jobs):
    body = {"project_id": str(project.pk), "category": "gotchas"}
    content = " ".join(f"Rename{n} the field in step{n}." for n in range(60))

    answer = alice_api.post("/api/v1/playbook/rules", body | {"content": content})
    run_jobs()

    assert answer.status_code == 201, answer.json()
    assert EntryVector.objects.count() > 1
