"""Link a finished task to the playbook entries and memories that the agent was given."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ace import named_rules
from ace.models import AceRun
from ace.repairs import edits
from ace.task import tool_calls
from ace.task.task import ToolCall
from memories.read import exposures as memory_exposures
from playbook.models import Exposure, PlaybookEntry
from playbook.reading import exposures
from playbook.reading.exposures import FinishedTask

MENTIONED = frozenset({"referenced"})


def give_credit(run: AceRun) -> None:
    """Link the run to the exposures of its agent since the agent's previous run."""
    task = _finished(run, run.task.calls)
    exposures.credit(task)
    memory_exposures.credit(task)


def find_followed(run: AceRun) -> list[PlaybookEntry]:
    """Return the entries that the agent was given, and whose command or file then succeeded.

    A file that the task only mentions, or that a failed call names, is none.
    """
    succeeded = [call for call in run.task.calls if call.has_failed is False]
    task = _finished(run, succeeded, besides=MENTIONED)
    rows = Exposure.objects.filter(run_id=run.pk).select_related("entry")
    return [
        row.entry for row in rows if not row.was_cited and exposures.find_use(row, task)
    ]


def _finished(
    run: AceRun, calls: Iterable[ToolCall], *, besides: Collection[str] = ()
) -> FinishedTask:
    links = run.memory.file_links.select_related("file") if run.memory else []
    given = named_rules.find(run.project, run.request, named_rules.INJECTED)
    cited = named_rules.find(run.project, run.request, named_rules.CITED)
    return FinishedTask(
        run_id=run.pk,
        project=run.project,
        agent_id=run.agent_id,
        key_id=run.key_id,
        at=run.created_at,
        given_entries={entry.pk for entry in given},
        cited_entries={entry.pk for entry in cited},
        calls=[text for call in calls for text in _texts(call)],
        paths=[
            link.file.file_path for link in links if link.relation_type not in besides
        ],
        result=run.task.result,
    )


def _texts(call: ToolCall) -> Iterator[str]:
    """Yield what a call did: its command, its tool with the arguments, what it wrote."""
    if call.command:
        yield call.command
    given = tool_calls.leaves(call.arguments) if call.is_of_domain else {}
    words = [f"{name.rpartition('.')[2]} {value}" for name, value in given.items()]
    yield " ".join([call.tool_name, *words])
    for edit in edits.read(call):
        yield edit.new
