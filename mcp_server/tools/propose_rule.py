"""The tool `propose_rule`: propose a rule with its evidence, which a person decides about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from common import errors
from common.api.serializers import NullIsAbsent
from common.caller import Role
from mcp_server.server.tool_call import McpAnswer, McpCall
from mcp_server.server.tool_server import ServedTool
from memories import scopes
from memories.models import Memory
from memories.store import memory_types, write
from memories.store.drafts import Draft as MemoryDraft
from playbook.entries.text_limits import MAX_CONTENT, MAX_QUOTE
from playbook.lessons import intake, person_edits, quotes
from playbook.lessons.draft import Draft, Operation, Producer
from playbook.lessons.lesson import Quote
from playbook.models import PlaybookDelta


class ProposeRuleArguments(NullIsAbsent):
    text = serializers.CharField(
        max_length=MAX_CONTENT, help_text="The rule, in one sentence."
    )
    category = serializers.CharField(max_length=64, default="gotchas")
    evidence = serializers.CharField(
        min_length=quotes.MIN_QUOTE,
        max_length=MAX_QUOTE,
        help_text="What you saw, verbatim; it has every name and number of the rule.",
    )
    memory_id = serializers.UUIDField(
        required=False, help_text="The memory that `evidence` quotes."
    )


class ProposeRuleAnswer(serializers.Serializer[Any]):
    delta_id = serializers.CharField()
    status = serializers.CharField()
    url = serializers.CharField()
    reason = serializers.CharField()


def run(call: McpCall) -> McpAnswer:
    answer = call.replay()
    if answer is None:
        person_edits.refuse_unknown_category(
            call.project, {"category": call.arguments["category"]}
        )
        prepared = intake.prepare(call.project, [draft_of(call)], call.caller)
        answer = call.run_once(lambda: describe(call, intake.file(prepared)[0]))
    lines = [f"The proposal is {answer['status']}: {answer['url']}", answer["reason"]]
    return McpAnswer(answer, "\n".join(filter(None, lines)))


def draft_of(call: McpCall) -> Draft:
    """Return the rule with the words of the memory that it quotes, as an agent's own words."""
    data, caller = call.arguments, call.caller
    memory = evidence_memory(call)
    sources = person_edits.quotable_texts(memory)
    said = quotes.find([Quote(data["evidence"])], sources)
    if not said:
        raise errors.Invalid(
            errors={"evidence": ["The memory has no such words; quote it verbatim."]}
        )
    delta = person_edits.person_change(
        Operation.ADD,
        {"content": data["text"], "category": data["category"]},
        caller,
        evidence=[asdict(quote) for quote in said],
        memory_id=memory.pk,
        agent_id=caller.agent_id_for(""),
        producer=Producer.AGENT,
    )
    return Draft(delta, around=tuple(quotes.surroundings(said, sources)))


def evidence_memory(call: McpCall) -> Memory:
    """Return the memory that the evidence quotes; without one, store the evidence itself."""
    data, caller, project = call.arguments, call.caller, call.project
    if "memory_id" in data:
        rows = Memory.objects.visible_to(caller, project).readable().light()
        found: Memory | None = rows.filter(pk=data["memory_id"]).first()
        if found is None:
            raise errors.NotFound(
                f"There is no memory {data['memory_id']} in this project."
            )
        return found
    draft = MemoryDraft(
        content=data["evidence"],
        memory_type=memory_types.classify(data["evidence"]),
        scope=scopes.resolve_for_task(None, project, caller),
    )
    receipt = write.store(project, draft, caller)
    assert receipt.memory
    return receipt.memory


def describe(call: McpCall, delta: PlaybookDelta) -> Mapping[str, Any]:
    failed = [gate["message"] for gate in delta.gates if gate["verdict"] == "fail"]
    return {
        "delta_id": str(delta.pk),
        "status": delta.status,
        "url": call.page_url("console:inbox_card", delta.pk),
        "reason": delta.review_note or " ".join(failed),
    }


TOOL = ServedTool(
    name="propose_rule",
    title="Propose a rule",
    description="Propose a rule for all agents; it waits in the inbox for a person.",
    arguments=ProposeRuleArguments,
    answer=ProposeRuleAnswer,
    run=run,
    role=Role.WRITER,
)
