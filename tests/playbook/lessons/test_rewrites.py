"""Repeated rewrites of the whole playbook by a model lose nothing."""

from __future__ import annotations

import pytest

from playbook.models import Playbook, PlaybookDelta, PlaybookEntry
from tests.playbook.conftest import propose

URL = "/api/v1/proposals"
TIMES = 10
TOPICS = (
    "`uv.lock` beside `pyproject.toml`",
    "`CHANGELOG.md` up to date before a release",
    "the port 5432 closed on `db-1`",
    "every path under `src/api/` typed",
    "the retry limit at 7 for `fetch_page`",
    "`DEBUG` off in `settings/prod.py`",
    "each migration reversible in `app/migrations/`",
    "the cache of `build_index` below 300 MB",
    "logs of `worker-3` for 14 days",
    "`X-Request-ID` on every answer",
)


@pytest.fixture(params=["assisted", "auto"])
def entries(request, write, set_options):
    """Ten learned rules under the default policy and under the boldest one."""
    made = [write(f"Keep {topic}.", author_kind="rule") for topic in TOPICS]
    set_options(policy=request.param)
    return made


@pytest.fixture
def rewrite(entries, memory):
    """The text that a model would put in place of all: half of it is gone."""
    kept = [entry.line for entry in entries[::2]]
    return "\n".join(kept)


@pytest.fixture
def post(bob_api, project):
    def send(**body):
        answer = bob_api.post(URL, {"project_id": str(project.pk), **body})
        assert answer.status_code == 201
        return answer.json()

    return send


@pytest.fixture
def unharmed(project, entries):
    before = {entry.pk: entry.content for entry in entries}

    def check():
        live = PlaybookEntry.objects.current().filter(project=project)
        now = dict(live.values_list("pk", "content"))
        return before.items() <= now.items()

    return check


def is_flagged(delta):
    """It waits or was refused, and a gate or the policy says why."""
    return delta["status"] in ("pending", "rejected") and bool(delta["review_note"])


class TestRewrites:
    def test_one_entry_is_never_made_the_whole_playbook(
        self, post, entries, rewrite, unharmed
    ):
        body = {"operation": "update", "entry_id": str(entries[0].pk)}

        posted = [post(**body, content=rewrite) for _ in range(TIMES)]

        assert all(is_flagged(delta) for delta in posted)
        assert unharmed()

    def test_a_quoted_rewrite_is_flagged_all_the_same(
        self, post, entries, rewrite, unharmed, memory
    ):
        type(memory).objects.filter(pk=memory.pk).update(result=rewrite)
        quote = {"field": "result", "start": 0, "end": len(rewrite), "quote": rewrite}
        body = {
            "operation": "update",
            "entry_id": str(entries[1].pk),
            "memory_id": str(memory.pk),
            "evidence": [quote],
        }

        posted = [post(**body, content=rewrite) for _ in range(TIMES)]

        assert all(is_flagged(delta) for delta in posted)
        assert {delta["risk"] for delta in posted} == {"high"}
        assert unharmed()

    def test_half_of_it_is_not_deleted_one_by_one(self, post, entries, unharmed):
        posted = [
            post(operation="delete", entry_id=str(entry.pk))
            for _ in range(TIMES // 2)
            for entry in entries[1::2]
        ]

        assert all(is_flagged(delta) for delta in posted)
        assert {delta["risk"] for delta in posted} == {"high"}
        assert unharmed()

    @pytest.mark.parametrize("operation", ["deprecate", "delete"])
    def test_a_quote_helps_no_removal_of_too_much(
        self, post, entries, unharmed, memory, operation
    ):
        text = memory.content
        quote = {"field": "content", "start": 0, "end": len(text), "quote": text}
        body = {"memory_id": str(memory.pk), "evidence": [quote]}

        posted = [
            post(operation=operation, entry_id=str(entry.pk), **body)
            for _ in range(TIMES // 2)
            for entry in entries[1::2]
        ]

        assert all(is_flagged(delta) for delta in posted)
        assert unharmed()

    def test_half_of_it_is_not_merged_away(self, post, entries, rewrite, unharmed):
        others = [{"id": str(entry.pk), "version": 1} for entry in entries[1::2]]
        body = {"entry_id": str(entries[0].pk), "targets": others}

        posted = [
            post(operation="merge", content=text, **body)
            for text in (rewrite, entries[0].content)
            for _ in range(TIMES // 2)
        ]

        assert all(is_flagged(delta) for delta in posted)
        assert {delta["risk"] for delta in posted} == {"high"}
        assert unharmed()

    def test_no_addition_merges_others(self, bob_api, project, entries):
        body = {
            "project_id": str(project.pk),
            "operation": "add",
            "content": "Keep everything.",
            "category": "general",
            "targets": [{"id": str(entry.pk)} for entry in entries],
        }

        answer = bob_api.post(URL, body)

        assert answer.status_code == 400
        assert "targets" in answer.json()["errors"]


class TestInOneDay:
    """More than one in twenty never goes without a person, in however many steps."""

    @pytest.fixture
    def many(self, write, set_options):
        set_options(policy="auto")
        return [
            write(f"Keep the part `p{n}` of module `m{n}.py`.", author_kind="rule")
            for n in range(40)
        ]

    def test_several_runs_of_one_agent_count_together(
        self, project, bob, learned, many
    ):
        for entry in many[:6]:
            removal = learned(None, operation="deprecate", entry=entry, evidence=())
            propose(project, [removal], bob)

        assert PlaybookEntry.objects.current().count() >= 38
        applied = PlaybookDelta.objects.filter(operation="deprecate", status="applied")
        assert 1 <= applied.count() <= 2

    def test_another_agent_of_the_same_key_counts_too(self, post, many, memory):
        text = memory.content
        quote = {"field": "content", "start": 0, "end": len(text), "quote": text}

        for n, entry in enumerate(many[:6]):
            post(
                operation="delete",
                entry_id=str(entry.pk),
                agent_id=f"agent-{n}",
                memory_id=str(memory.pk),
                evidence=[quote],
            )

        assert PlaybookEntry.objects.current().count() >= 38

    def test_tokens_count_as_well_as_entries(self, write, set_options, post):
        set_options(policy="auto")
        long = "Keep the part `p0` of it " + "and of every other module " * 20
        entry = write(long, author_kind="rule")
        for n in range(30):
            write(f"Keep `q{n}` tidy.", author_kind="rule")
        before = Playbook.objects.get().tokens

        text = long
        for _ in range(20):
            text = text.removesuffix("and of every other module ")
            post(operation="update", entry_id=str(entry.pk), content=text)

        assert Playbook.objects.get().tokens >= before * 0.95
