"""What the agent of a finished task was given for it."""

from __future__ import annotations

from collections.abc import Iterable

from ace.models import AceRun
from playbook.models import PlaybookEntry
from playbook.reading import exposures


def for_run(
    run: AceRun, *, given: Iterable[PlaybookEntry], cited: Iterable[PlaybookEntry]
) -> None:
    """Link the run to what its agent was given since its last one.

    `given` and `cited` are the entries that the request names.
    """
    exposures.credit(
        exposures.FinishedTask(
            run_id=run.pk,
            project=run.project,
            agent_id=run.agent_id,
            key_id=run.key_id,
            at=run.created_at,
            given={entry.pk for entry in given},
            cited={entry.pk for entry in cited},
        )
    )
