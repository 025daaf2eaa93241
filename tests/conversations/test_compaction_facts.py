"""What a compaction does to given sessions: the expected results of the original system."""

from __future__ import annotations

import pytest

from common import errors
from common.caller import SYSTEM
from conversations.compaction.compact import CompactionMode, compact
from conversations.messages import explore
from conversations.models import Session, Summary
from conversations.summarizers import ExtractiveSummarizer, StaticSummarizer
from tests.conversations.conftest import call, say, talk

pytestmark = pytest.mark.django_db
INCREMENTAL, FULL = CompactionMode.INCREMENTAL, CompactionMode.FULL
WORDS = "A token was missing."


@pytest.fixture
def session_of(session_api):
    """Make a session of so many messages: `session_of(30)`."""

    def make(count):
        session_api.bootstrap()
        session_api.append(*talk(count))
        return Session.objects.get()

    return make


def run(session, mode, summarizer=None):
    return compact(session, summarizer or StaticSummarizer(WORDS), mode, SYSTEM)


def leaves(session):
    return Summary.objects.filter(session=session, kind="leaf").order_by("first_seq")


class TestLeaves:
    @pytest.mark.parametrize(
        ("count", "expected"),
        [(0, 0), (3, 0), (20, 0), (29, 0), (30, 1), (60, 2), (200, 9)],
    )
    def test_a_chunk_before_the_tail_becomes_a_leaf(self, session_of, count, expected):
        session = session_of(count)

        result = run(session, FULL)

        assert result.leaf_summaries_created == expected
        assert leaves(session).count() == expected

    def test_one_incremental_call_makes_one_leaf(self, session_of):
        session = session_of(100)

        result = run(session, INCREMENTAL)

        assert (result.leaf_summaries_created, result.messages_compacted) == (1, 20)
        assert leaves(session).get().last_seq == 20

    def test_the_tail_is_never_summarized(self, session_of):
        session = session_of(47)

        run(session, FULL)

        assert not session.messages.filter(seq__gt=27, leaf__isnull=False).exists()

    def test_a_leaf_begins_with_no_result_and_ends_with_no_call(self, session_api):
        session_api.bootstrap()
        for number in range(40):
            result = {
                "type": "tool_result",
                "id": f"c{number}",
                "name": "Bash",
                "content": f"step {number} is done",
            }
            session_api.append(
                call(f"c{number}", step=number), {"role": "tool", "parts": [result]}
            )
        session = Session.objects.get()

        run(session, FULL, ExtractiveSummarizer())

        assert leaves(session)
        for leaf in leaves(session):
            messages = list(leaf.messages.order_by("seq"))
            assert messages[0].parts[0]["type"] == "tool_call"
            assert messages[-1].parts[0]["type"] == "tool_result"

    def test_a_message_between_two_summaries_makes_two_runs(self, session_of):
        session = session_of(80)
        run(session, FULL)
        middle = leaves(session)[1]
        Summary.objects.filter(kind="condensed").delete()
        Summary.objects.update(parent=None)
        Summary.objects.filter(pk=middle.pk).delete()

        result = run(session, INCREMENTAL, StaticSummarizer(WORDS))

        # The chunk between the two leaves comes first, and joins no message beyond them.
        assert result.leaf_summaries_created == 1
        again = leaves(session)[1]
        assert (again.first_seq, again.last_seq) == (middle.first_seq, middle.last_seq)


class TestCondensed:
    def rows(self, session, *depths):
        """Summaries of ten messages each with these depths; a 0 stands for a leaf."""
        made = []
        for number, depth in enumerate(depths):
            first = number * 10 + 1
            made.append(
                Summary.objects.create(
                    session=session,
                    project_id=session.project_id,
                    kind="condensed" if depth else "leaf",
                    depth=depth,
                    content=WORDS,
                    tokens=5,
                    earliest_at=session.created_at,
                    latest_at=session.created_at,
                    first_seq=first,
                    last_seq=first + 9,
                    message_count=10,
                    summarizer="static",
                    content_tsv="",
                )
            )
            if not depth:
                rows = session.messages.filter(seq__range=(first, first + 9))
                rows.update(leaf=made[-1])
        covered = session.messages.filter(seq__lte=len(depths) * 10)
        covered.update(leaf=made[0])
        return made

    @pytest.mark.parametrize(
        ("depths", "joined"),
        [
            ((0,), None),
            ((0, 1), None),
            ((0, 1, 0), None),
            ((0, 0), (0, 1)),
            ((0, 0, 1), (0, 1)),
            ((1, 1), (0, 1)),
            ((0, 0, 1, 1, 1), (0, 1)),
            ((1, 1, 0, 0), (2, 3)),
            ((0, 0, 0, 0, 0, 0, 0), (0, 1, 2, 3, 4, 5)),
        ],
    )
    def test_neighbours_of_one_depth_are_joined_the_shallowest_first(
        self, session_of, depths, joined
    ):
        session = session_of(len(depths) * 10 + 5)
        made = self.rows(session, *depths)

        result = run(session, INCREMENTAL)

        assert result.condensed_summaries_created == (1 if joined else 0)
        if joined:
            new = Summary.objects.exclude(pk__in=[each.pk for each in made]).get()
            assert set(new.children.all()) == {made[n] for n in joined}
            assert new.depth == made[joined[0]].depth + 1
            assert new.message_count == 10 * len(joined)

    def test_a_message_between_them_breaks_the_run(self, session_of):
        session = session_of(45)
        first, between, last = self.rows(session, 0, 0, 0)
        between.delete()
        session.messages.filter(seq__range=(11, 20)).update(leaf=None)
        session.messages.filter(seq__range=(12, 20)).delete()

        result = run(session, INCREMENTAL)

        assert result.condensed_summaries_created == 0
        assert {first.pk, last.pk} <= set(
            Summary.objects.filter(parent=None).values_list("pk", flat=True)
        )


class TestExploring:
    def test_a_condensed_summary_and_its_leaves_point_at_each_other(self, session_of):
        session = session_of(60)
        run(session, FULL)
        top = Summary.objects.get(kind="condensed")
        first, second = leaves(session)

        described = explore.describe(top)
        assert (described.depth, described.parent_ids) == (1, [])
        assert described.child_ids == [first.summary_id, second.summary_id]
        assert described.descendant_count == 40
        below = explore.describe(explore.find_summary(first.summary_id, SYSTEM))
        assert below.parent_ids == [top.summary_id]
        assert len(below.child_ids) == 20

    def test_an_expansion_stops_before_the_cap_and_gives_at_least_one(
        self, session_api
    ):
        session_api.bootstrap()
        session_api.append(*(say("x" * 400) for _ in range(60)))
        session = Session.objects.get()
        run(session, FULL)
        leaf, top = leaves(session)[0], Summary.objects.get(kind="condensed")

        assert len(explore.expand(leaf, 150).messages) == 1
        assert len(explore.expand(leaf, 200).messages) == 2
        assert len(explore.expand(leaf, 1).messages) == 1
        assert len(explore.expand(leaf).messages) == 20
        assert len(explore.expand(top, 1).children) == 1
        cut = explore.expand(leaf, 150)
        assert cut.truncated
        rest = explore.expand(leaf, 10**6, cut.next_after_seq)
        assert [each.seq for each in rest.messages] == list(range(2, 21))

    def test_an_unknown_summary_is_an_error(self):
        with pytest.raises(errors.NotFound):
            explore.find_summary("nonexistent_summary", SYSTEM)


class TestAssembling:
    def test_all_results_of_a_tool_heavy_turn_stay(self, session_api):
        session_api.bootstrap()
        session_api.append(say("Run them all"))
        for number in range(16):
            result = {
                "type": "tool_result",
                "id": f"c{number}",
                "name": "Bash",
                "content": f"done {number}",
            }
            session_api.append(call(f"c{number}"), {"role": "tool", "parts": [result]})

        found = session_api.assemble(token_budget=100_000, fresh_tail=6)

        assert len(found["messages"]) == 33

    def test_an_old_turn_goes_and_the_new_one_keeps_its_pair(self, session_api):
        result = {"type": "tool_result", "id": "c1", "name": "Bash", "content": "ok"}
        session_api.bootstrap()
        session_api.append(
            say("x" * 1_200),
            say("And now?"),
            call("c1", command="make"),
            {"role": "tool", "parts": [result]},
        )

        found = session_api.assemble(token_budget=100, fresh_tail=2)

        assert [each["seq"] for each in found["messages"]] == [2, 3, 4]
        assert found["left_out"][0]["to_seq"] == 1
