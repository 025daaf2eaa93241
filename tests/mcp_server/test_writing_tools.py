"""What `remember`, `forget`, `complete_task`, `feedback` and `propose_rule` do."""

from __future__ import annotations

import pytest

from ace.models import AceRun
from audit.models import AuditEvent
from common.caller import Role
from memories.models import Memory, MemoryChange
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry
from tests.mcp_server.conftest import McpClient

pytestmark = pytest.mark.django_db
RULE = "Run the harbour tests with `make tide` before you deploy."
SEEN = "The harbour tests ran with `make tide` before we could deploy."
KEY = {"_meta": {"agent-memory/idempotency-key": "once"}}
REPAIRED = [
    {
        "tool_name": "upload",
        "arguments": {"bucket": "tide reports"},
        "result": "Error: bucket 'tide reports' not found",
        "status": "error",
    },
    {
        "tool_name": "upload",
        "arguments": {"bucket": "tide-reports"},
        "result": "uploaded",
    },
]


@pytest.fixture
def rule(alice_api, project):
    body = {"project_id": str(project.pk), "content": RULE, "category": "gotchas"}
    made = alice_api.post("/api/v1/playbook/rules", body).json()["entry"]
    return PlaybookEntry.objects.get(pk=made["id"])


def once(client, name, arguments, **headers):
    params = {"name": name, "arguments": arguments} | ({} if headers else KEY)
    return client.ask("tools/call", params, **headers)["result"]


class TestRemember:
    def test_it_stores_a_memory_and_says_so_in_a_line(self, bob_mcp, project):
        sent = {"content": "The harbour opens at noon.", "tags": ["tide"]}
        result = bob_mcp.result("remember", sent)

        memory = Memory.objects.get(project=project)
        assert result["content"][0]["text"] == f"Stored as {memory.pk}."
        assert (memory.content, memory.tags) == (sent["content"], ["tide", "pinned"])
        assert AuditEvent.objects.filter(object_id=str(memory.pk)).exists()

    def test_the_same_text_again_is_a_duplicate(self, bob_mcp):
        first = bob_mcp.call("remember", content="The harbour opens at noon.")
        again = bob_mcp.call("remember", content="The harbour opens at noon.")

        assert (again["status"], again["duplicate_of"]) == ("duplicate", first["id"])

    def test_a_key_makes_it_a_fact_that_replaces_the_earlier_one(self, bob_mcp):
        fact = {"content": "It opens.", "key": "harbour.opens"}
        bob_mcp.call("remember", **fact, value="at noon")
        again = bob_mcp.call("remember", **fact, value="at ten")

        assert Memory.objects.current().get().value == "at ten"
        assert again["status"] == "superseded_key"

    def test_a_bound_key_writes_in_the_scope_of_its_user(self, mcp_of, project):
        mcp_of(project, user_id="u1").call("remember", content="Ana likes the tide.")

        memory = Memory.objects.get()
        assert (memory.scope_kind, memory.scope_key) == ("user", "u1")

    def test_a_refusal_says_how_to_mend_it(self, bob_mcp):
        assert bob_mcp.refusal("remember", content="  ").startswith("invalid: ")

    @pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}])
    def test_a_repeated_call_with_one_key_stores_once(self, bob_mcp, headers):
        sent = {"content": "The harbour opens at noon."}
        first, again = (once(bob_mcp, "remember", sent, **headers) for _ in range(2))

        assert first == again
        assert Memory.objects.count() == 1


class TestForget:
    @pytest.fixture
    def own(self, bob_mcp):
        return bob_mcp.call("remember", content="The harbour opens at noon.")["id"]

    def test_an_own_memory_is_deleted_softly_with_the_reason(self, bob_mcp, own):
        assert bob_mcp.call("forget", id=own, reason="wrong")["status"] == "forgotten"

        memory = Memory.objects.get(pk=own)
        assert memory.deleted_at and memory.delete_reason == "wrong"

    def test_to_forget_twice_is_no_error_and_changes_nothing(self, bob_mcp, own):
        bob_mcp.call("forget", id=own, reason="wrong")
        again = bob_mcp.call("forget", id=own, reason="wrong again")

        assert again["status"] == "forgotten"
        assert Memory.objects.get(pk=own).delete_reason == "wrong"

    def test_a_rotated_key_is_still_the_same_author(self, bob_mcp, own):
        key = bob_mcp.api.key
        made = bob_mcp.api.post(f"/api/v1/keys/{key.pk}/rotate", {}).json()
        bob_mcp.api.credentials(HTTP_AUTHORIZATION=f"Bearer {made['secret']}")

        assert bob_mcp.call("forget", id=own, reason="wrong")["status"] == "forgotten"

    def test_the_memory_of_another_key_becomes_a_proposal(self, mcp_of, project, own):
        told = mcp_of(project).call("forget", id=own, reason="The tide is over.")

        delta = PlaybookDelta.objects.get(operation="forget")
        assert (told["id"], told["status"]) == (own, "proposed")
        assert told["url"].endswith(f"/admin/inbox/{delta.pk}/")
        assert (str(delta.memory_id), delta.reason) == (own, "The tide is over.")
        assert (delta.status, delta.risk) == ("pending", "high")
        assert Memory.objects.get(pk=own).deleted_at is None

    def test_a_key_of_the_same_user_owns_it(self, mcp_of, project):
        bound = mcp_of(project, user_id="u1")
        pk = bound.call("remember", content="Ana likes the tide.")["id"]
        other = mcp_of(project, user_id="u1")

        assert other.call("forget", id=pk, reason="no more")["status"] == "forgotten"

    def test_a_curator_deletes_what_another_key_stored(self, mcp_of, project, own):
        curator = mcp_of(project, role=Role.CURATOR)

        assert curator.call("forget", id=own, reason="wrong")["status"] == "forgotten"

    def test_a_rule_becomes_a_proposal_that_waits(self, bob_mcp, rule):
        told = bob_mcp.call("forget", id=rule.label, reason="The tide is over.")

        delta = PlaybookDelta.objects.get(operation="delete")
        assert (delta.status, delta.reason) == ("pending", "The tide is over.")
        assert told["url"].endswith(f"/admin/inbox/{delta.pk}/")
        assert PlaybookEntry.objects.get(pk=rule.pk).is_live

    def test_its_history_names_the_key(self, bob_mcp, own):
        bob_mcp.call("forget", id=own, reason="wrong")

        last = MemoryChange.objects.filter(memory_id=own).first()
        assert last.actor == f"key:{bob_mcp.api.key.prefix}"


class TestCompleteTask:
    def test_it_stores_a_run_and_its_memory(self, bob_mcp, project):
        told = bob_mcp.call(
            "complete_task", goal="Deploy the harbour", result="ok", outcome="success"
        )

        run = AceRun.objects.get(project=project)
        assert (told["run_id"], told["memory_id"]) == (str(run.pk), str(run.memory_id))
        assert told["outcome"] == "success"

    def test_it_takes_lessons_in_the_agents_own_words(self, bob_mcp):
        lesson = {
            "content": "Use slugs in the place of names with spaces for a bucket.",
            "applies_to": ["tool:upload"],
            "quotes": ["use slugs"],
        }
        told = bob_mcp.call(
            "complete_task",
            goal="Upload the report",
            result="A bucket has a name without spaces: use slugs.",
            lessons=[lesson],
        )

        delta = PlaybookDelta.objects.get()
        assert (told["proposals"], delta.content) == (1, lesson["content"])
        assert delta.status == "pending"

    def test_a_cited_rule_is_credited(self, bob_mcp, rule):
        told = bob_mcp.call(
            "complete_task", goal="Deploy", outcome="success", cited=[rule.label]
        )

        run = AceRun.objects.get(pk=told["run_id"])
        assert run.request["cited_entry_ids"] == [rule.label]

    def test_a_claim_that_does_not_count_is_told(self, bob_mcp):
        told = bob_mcp.call(
            "complete_task",
            goal="Deploy",
            feedback="Well done",
            feedback_source="human",
        )

        assert any("counts as agent" in note for note in told["notes"])


class TestFeedback:
    def test_a_vote_on_a_rule_that_was_given_counts(self, mcp_of, project, rule):
        tester = mcp_of(project, may_attest=True)
        tester.call("fetch", ids=[rule.label])
        told = tester.call("feedback", id=rule.label, vote="helpful", note="It helped")

        assert (told["helpful"], told["harmful"]) == (1, 0)
        change = PlaybookChange.objects.get(entry_id=rule.pk, action="vote")
        assert (change.reason, change.actor) == (
            "It helped",
            f"key:{tester.api.key.prefix}",
        )

    def test_a_vote_on_a_rule_that_was_not_given_is_refused(self, bob_mcp, rule):
        text = bob_mcp.refusal("feedback", id=rule.label, vote="helpful", note="x")

        assert text.startswith("not_given: ")

    def test_a_second_vote_counts_after_it_was_given_again(self, mcp_of, project, rule):
        tester = mcp_of(project, may_attest=True)
        vote = {"id": rule.label, "vote": "harmful", "note": "It failed"}
        tester.call("fetch", ids=[rule.label])

        assert tester.call("feedback", **vote)["harmful"] == 1
        assert tester.refusal("feedback", **vote).startswith("already_voted: ")
        tester.call("fetch", ids=[rule.label])
        assert tester.call("feedback", **vote)["harmful"] == 2

    def test_one_key_that_may_not_attest_cannot_put_a_rule_in_doubt(
        self, bob_mcp, rule
    ):
        bob_mcp.call("fetch", ids=[rule.label])
        told = bob_mcp.call("feedback", id=rule.label, vote="harmful", note="No")

        assert told["harmful"] == 0


class TestProposeRule:
    def test_it_waits_in_the_inbox_with_its_evidence(self, bob_mcp):
        told = bob_mcp.call("propose_rule", text=RULE, evidence=SEEN)

        delta = PlaybookDelta.objects.get()
        assert told["status"] == delta.status == "pending"
        assert told["url"].endswith(f"/admin/inbox/{delta.pk}/")
        assert [quote["quote"] for quote in delta.evidence] == [SEEN]
        assert Memory.objects.get(pk=delta.memory_id).content == SEEN

    def test_the_evidence_may_quote_a_memory(self, bob_mcp):
        stored = bob_mcp.call("remember", content=f"On Monday: {SEEN}")["id"]
        bob_mcp.call("propose_rule", text=RULE, evidence=SEEN, memory_id=stored)

        quote = PlaybookDelta.objects.get().evidence[0]
        assert (quote["start"], quote["quote"]) == (11, SEEN)

    def test_words_that_the_memory_does_not_have_are_refused(self, bob_mcp):
        stored = bob_mcp.call("remember", content="The harbour opens at noon.")["id"]
        text = bob_mcp.refusal(
            "propose_rule", text=RULE, evidence=SEEN, memory_id=stored
        )

        assert "quote it verbatim" in text

    def test_a_rule_with_a_name_that_its_evidence_does_not_show_waits(self, bob_mcp):
        told = bob_mcp.call(
            "propose_rule", text="Use `rsync --delete` on 42 hosts.", evidence=SEEN
        )

        assert told["status"] == "pending"
        assert told["reason"]

    def test_a_rule_needs_evidence(self, bob_mcp):
        assert "evidence" in bob_mcp.refusal("propose_rule", text=RULE)

    def test_an_unknown_category_is_refused_with_the_known_ones(self, bob_mcp):
        text = bob_mcp.refusal(
            "propose_rule", text=RULE, evidence=SEEN, category="tides"
        )

        assert "gotchas" in text
        assert not Memory.objects.exists()


def test_a_tool_of_a_bound_agent_writes_as_that_agent(mcp_of, project):
    bound: McpClient = mcp_of(project, agent_id="crane")
    bound.call("complete_task", goal="Deploy", result="ok")

    assert AceRun.objects.get().agent_id == "crane"
