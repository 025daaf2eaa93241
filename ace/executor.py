"""Store a finished task as a memory, linked to the files that it touched."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ace.task import file_paths, memory_type, task_tags
from ace.task.analysis import TaskAnalysis
from ace.task.task import Task, ToolCall
from common.caller import Caller
from common.text.cuts import Cuts
from memories.models import Tag
from memories.store.drafts import MAX_CONTENT, MAX_PART, Draft, FileRef
from memories.store.receipt import Receipt
from projects.models import Project


def draft_of(
    analysis: TaskAnalysis, caller: Caller, *, project: Project, agent_id: str
) -> Draft:
    """Return the draft of the memory for a finished task (REQ-MEM-ACE-001).

    A text of the task may be too long for a memory. The memory then has only a part of
    the text; the run keeps all of it.
    """
    task, outcome, links = analysis.task, analysis.outcome, analysis.links
    cuts = Cuts("the run keeps the whole text")
    return Draft(
        content=content_of(task, cuts),
        memory_type=memory_type.memory_type(task, outcome.value),
        agent_id=agent_id,
        goal=cuts.clip("goal", task.goal, MAX_PART),
        result=cuts.clip("result", task.result, MAX_PART),
        feedback=cuts.clip("feedback", task.feedback, MAX_PART),
        tool_usage=[_summarise_call(call, cuts) for call in task.calls],
        outcome=outcome.value,
        tags=tuple(task_tags.find(task, links, project_tags(project, caller))),
        files=tuple(
            FileRef(
                file_paths.relative(link.path, analysis.roots),
                link.relation,
                link.line_start,
                link.line_end,
            )
            for link in links
        ),
        metadata={"feedback_source": task.feedback_source},
        notes=cuts.notes,
        # Store every task, even if it is very short or if it exceeds the quotas.
        min_length=1,
        is_kept_over_quota=True,
    )


def content_of(task: Task, cuts: Cuts) -> str:
    """Return the goal, the result, and the feedback unless they already contain it."""
    parts = [task.goal, task.result]
    said = " ".join(" ".join(parts).casefold().split())
    feedback = " ".join(task.feedback.casefold().split())
    if feedback and feedback not in said:
        parts.append(f"Feedback: {task.feedback}")
    text = "\n\n".join(part.strip() for part in parts if part.strip())
    return cuts.clip("content", text, MAX_CONTENT)


def project_tags(project: Project, caller: Caller) -> Collection[str]:
    tags = Tag.objects.visible_to(caller).filter(project=project)
    return list(tags.values_list("name", flat=True))


MAX_ARGUMENT = 500  # characters of an argument that the memory keeps


def _summarise_call(call: ToolCall, cuts: Cuts) -> dict[str, Any]:
    """Return {tool_name, arguments} of a call.

    The memory does not keep the result of the call; the run does.
    """
    return {
        "tool_name": call.tool_name,
        "arguments": {
            key: cuts.clip(f"{call.arguments_field}.{key}", value, MAX_ARGUMENT)
            if isinstance(value, str)
            else value
            for key, value in call.arguments.items()
        },
    }


def result_of(receipt: Receipt) -> dict[str, Any]:
    """Return the keys of the ACEResult that the executor knows.

    The keys of the later phases have empty values.
    """
    memory = receipt.memory
    assert memory
    links = memory.file_links.select_related("file").order_by("file__file_path")
    return {
        "memory_id": str(memory.pk),
        "memory_type": memory.memory_type,
        "memory_status": receipt.status,
        "duplicate_of": str(receipt.duplicate_of.pk) if receipt.duplicate_of else None,
        "files_linked": [
            {
                "file_path": link.file.file_path,
                "relation_type": link.relation_type,
                "line_start": link.line_start,
                "line_end": link.line_end,
            }
            for link in links
        ],
        "tags": memory.tags,
        "outcome": memory.outcome_word,
        "notes": list(receipt.notes),
        **EMPTY_RESULT,
    }


# The values of these keys until the later phases have run.
EMPTY_RESULT: dict[str, Any] = {
    "insights": [],
    "errors": [],
    "related_playbook_entries": [],
    "playbook_delta": {"operations": [], "summary": ""},
    "updated_bullets": [],
    "change_id": None,
}
