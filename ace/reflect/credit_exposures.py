"""Link a finished task to the playbook entries and memories that the agent was given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ace.models import AceRun
from ace.repairs import edits
from ace.rules.task import ToolCall
from ace.rules.tool_calls import argument_leaves
from memories.read import exposures as memory_exposures
from playbook.models import PlaybookEntry
from playbook.reading import exposures


def for_run(
    run: AceRun,
    *,
    injected_entries: Iterable[PlaybookEntry],
    cited_entries: Iterable[PlaybookEntry],
) -> None:
    """Link the run to the exposures of its agent since the agent's previous run.

    `injected_entries` and `cited_entries` are the entries that the request names.
    """
    links = run.memory.file_links.select_related("file") if run.memory else []
    task = exposures.FinishedTask(
        run_id=run.pk,
        project=run.project,
        agent_id=run.agent_id,
        key_id=run.key_id,
        at=run.created_at,
        given_entries={entry.pk for entry in injected_entries},
        cited_entries={entry.pk for entry in cited_entries},
        calls=[text for call in run.task.calls for text in _texts(call)],
        paths=[link.file.file_path for link in links],
        result=run.task.result,
    )
    exposures.credit(task)
    memory_exposures.credit(task)


def _texts(call: ToolCall) -> Iterator[str]:
    """Yield what a call did: its command, its tool with the arguments, what it wrote."""
    if call.command:
        yield call.command
    given = argument_leaves.leaves(call.arguments) if call.is_of_domain else {}
    words = [f"{name.rpartition('.')[2]} {value}" for name, value in given.items()]
    yield " ".join([call.tool_name, *words])
    for edit in edits.read(call):
        yield edit.new
