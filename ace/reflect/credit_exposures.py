"""Link a finished task to the playbook entries and memories that the agent was given."""

from __future__ import annotations

from collections.abc import Iterable

from ace.models import AceRun
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
    calls = run.task.calls
    links = run.memory.file_links.select_related("file") if run.memory else []
    task = exposures.FinishedTask(
        run_id=run.pk,
        project=run.project,
        agent_id=run.agent_id,
        key_id=run.key_id,
        at=run.created_at,
        given_entries={entry.pk for entry in injected_entries},
        cited_entries={entry.pk for entry in cited_entries},
        commands=[text for call in calls for text in (call.command, call.tool_name)],
        paths=[link.file.file_path for link in links],
        result=run.task.result,
    )
    exposures.credit(task)
    memory_exposures.credit(task)
