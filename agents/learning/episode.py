"""Record a run that looks like a task as an episode, by the one path of finished tasks."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from typing import Any

from ace import run as ace_runs
from ace.episode import EpisodeSource
from ace.models import AceRun
from ace.task import task as tasks
from ace.task import task_outcome, verdict_words
from ace.task.task import canonical_json
from ace.task.task_outcome import TaskOutcome
from agents import run_texts
from agents.models import AgentRun
from agents.steps import AgentStep
from common.caller import Caller
from inference.language.fence import keep_ends
from memories.scopes import Scope
from playbook.models import PlaybookEntry
from projects import secret_policy
from projects.models import Project

MAX_RESULT = 4_000  # characters of a tool's answer that a finished task keeps
MIN_CALLS = 2  # calls that make a task
LOOP = 3  # equal calls with equal answers
# Answers that there is no answer.
_NOTHING = re.compile(
    r"\b(?:there (?:is|are|was|were) no|no such|not (?:find|found|know|have|able|available"
    r"|possible)|(?:don|doesn|didn|can|couldn|wasn|isn)['\u2019]t|unknown|sorry|unfortunately"
    r"|failed|nothing)\b",
    re.IGNORECASE,
)
ENDED = (AgentRun.RunStatus.DONE, AgentRun.RunStatus.FAILED)


def is_task(run: AgentRun) -> bool:
    """Whether a run is like a task: two calls, one that failed, or the client says so.

    A call that was made LOOP times with the same answer is a loop, which is no work.
    """
    calls = run_texts.calls_of(run)
    counts = Counter(map(_call_and_answer, calls))
    work = [call for call in calls if counts[_call_and_answer(call)] < LOOP]
    said = run.request.get("task")
    return bool(said) or len(work) >= MIN_CALLS or any(c.is_error for c in work)


def _call_and_answer(step: AgentStep) -> tuple[str, str, str]:
    return step.action, canonical_json(step.arguments), step.observation


def is_enabled(run: AgentRun) -> bool:
    """Whether the run becomes an episode; a cancelled or interrupted one never does."""
    wants = run.project.options.agents.enable_episode_recording
    return wants and run.status in ENDED and is_task(run)


def record_episode(
    run: AgentRun, user_id: str, conversation_id: str, caller: Caller
) -> str:
    """Report the run as a finished task; return the id of its episode.

    A second call reports nothing again. With a user, the episode is in that user's scope,
    and what it proposes to the playbook waits for a person (playbook.proposals.privacy).
    """
    source = EpisodeSource(user_id, conversation_id, {"run_id": str(run.pk)})
    finished = complete_once(
        run.project,
        _request(run),
        caller,
        source=source,
        run_id=uuid.uuid5(run.pk, "episode"),
    )
    return memory_id_of(finished)


def complete_once(
    project: Project,
    request: dict[str, Any],
    caller: Caller,
    *,
    source: EpisodeSource,
    run_id: uuid.UUID,
) -> AceRun:
    """Report a finished task, once for each `run_id`, whatever the project does with secrets.

    They are masked where the project would refuse them, because the work is over.
    """
    if project.options.secrets == "reject":
        request, _ = secret_policy.guard("mask", request)
    user_id = source.user_id
    scope = Scope("user", user_id) if user_id else Scope("workspace", str(project.pk))
    return ace_runs.complete(
        project, request, caller, scope=scope, run_id=run_id, source=source
    )


def memory_id_of(run: AceRun) -> str:
    """Return the episode of a finished task, or the one that it repeats."""
    memory = run.memory
    assert memory  # the first phase stores it
    return str(memory.duplicate_of_id or memory.pk)


def _request(run: AgentRun) -> dict[str, Any]:
    given = run.memory.get("entries") or []
    request: dict[str, Any] = {
        "agent_id": run.agent_id,
        "goal": run_texts.question_of(run),
        "result": run_texts.result_of(run),
        "tool_usage": list(map(_tool_usage, run_texts.calls_of(run))),
        "feedback_source": "agent",
        "injected_entry_ids": given,
        "cited_entry_ids": _cited_entries(run, given),
    }
    if run.status == AgentRun.RunStatus.FAILED:
        request["outcome"] = "failure"
    elif _is_success(run.answer, task_outcome.resolve(tasks.parse(request))):
        request["outcome"] = "success"
    return request


def _is_success(answer: str, shown: TaskOutcome) -> bool:
    """Whether the agent's own word counts: it answered, and nothing says otherwise.

    Tests, failed calls and expectations come first. An answer that admits a failure, or
    that there is nothing, is no success.
    """
    if shown.source != "none" or _NOTHING.search(answer):
        return False
    return all(value == "success" for value, _ in verdict_words.find(answer))


def _tool_usage(step: Any) -> dict[str, Any]:
    """Return the call; without the flag of an error, what the tool answered decides.

    A command whose output is piped ends without an error, although its program failed.
    """
    return {
        "tool_name": step.action,
        "arguments": step.arguments,
        "result": keep_ends(step.observation, MAX_RESULT),
        **({"is_error": True} if step.is_error else {}),
        # A tool speaks for others: what only its words teach waits for a person.
        "is_foreign": step.action not in run_texts.MEMORY_TOOLS,
    }


def _cited_entries(run: AgentRun, given: list[str]) -> list[str]:
    """Return the rules, of those that were given, that the agent names by their label."""
    thoughts = (step.thought for step in run_texts.calls_of(run))
    words = "\n".join([*thoughts, run.answer])
    entries = PlaybookEntry.objects.filter(project=run.project, pk__in=given)
    return [
        str(pk)
        for pk, label in entries.values_list("pk", "label")
        if re.search(rf"(?<![\w-]){re.escape(label)}(?![\w-])", words)
    ]
