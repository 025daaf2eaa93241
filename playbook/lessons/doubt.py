"""Put rules in doubt that evidence speaks against, until a person decides about them.

The evidence is harmful votes, a person's correction, a file that is gone, work that has ended,
or a lesson that contradicts the rule. A waiting proposal to change or retire the rule is the doubt: agents are
given the rule with the mark `contested` (decision 0011). Accepting changes the rule, rejecting
confirms it. Only a key that may attest can put a rule in doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from django.db.models import F

from common.caller import Caller
from memories.store import files
from playbook.lessons import draft as drafts
from playbook.lessons import intake
from playbook.lessons.draft import Operation, Producer
from playbook.models import Anchor, PlaybookDelta, PlaybookEntry
from projects.models import Project

NAME, VERSION = "doubt", "1"
MAX_PATH = 200  # characters of a path in the reason of a proposal
# Of one report of files. More rules than this are a reorganization, not a reason to retire.
MAX_GONE = 20


class DoubtKind(StrEnum):
    """What speaks against the rule."""

    VOTES = "votes"
    CORRECTION = "correction"
    FILES = "files"
    EXPIRED = "expired"


def raise_doubts(
    project: Project,
    kind: DoubtKind,
    retirements: Sequence[PlaybookDelta],
    caller: Caller,
) -> list[PlaybookDelta]:
    """Propose to retire entries, and put them in doubt if the caller may attest.

    An entry that is in doubt already gets no second proposal.
    """
    if caller.attests_in(project.pk):
        waiting = PlaybookDelta.objects.casting_doubt().filter(
            entry__in=[delta.entry_id for delta in retirements],
            expected_version=F("entry__version"),
        )
        known = set(waiting.values_list("entry_id", flat=True))
        retirements = [d for d in retirements if d.entry_id not in known]
        for delta in retirements:
            delta.payload["doubt"] = kind.value
    return intake.submit(project, retirements, caller)


def retirement(
    entry: PlaybookEntry, *, reason: str, evidence: str, **columns: Any
) -> PlaybookDelta:
    """Return a proposal to retire an entry. `evidence` names what speaks against it.

    The same evidence never gives a second proposal about the same text.
    """
    return drafts.change(
        Operation.DEPRECATE,
        entry=entry,
        expected_version=entry.version,
        reason=reason,
        producer=Producer.RULE,
        producer_name=NAME,
        producer_version=VERSION,
        idempotency_key=drafts.key(NAME, entry.pk, entry.version, evidence),
        **columns,
    )


@files.on_removal
def doubt_gone(project: Project, paths: Sequence[str], caller: Caller) -> None:
    """Put the entries in doubt that name a file which an attested report says is gone."""
    anchors = Anchor.objects.filter(project_id=project.pk, file_path__in=paths)
    named = dict(anchors.order_by("-file_path").values_list("entry_id", "file_path"))
    entries = PlaybookEntry.objects.current().light().filter(pk__in=named)
    retirements = [
        retirement(
            entry,
            reason=f'The file "{named[entry.pk][:MAX_PATH]}" that {entry.label} names '
            "is gone.",
            evidence=f"{named[entry.pk]} {entry.verified_at}",
        )
        for entry in entries.order_by("pk")[:MAX_GONE]
    ]
    raise_doubts(project, DoubtKind.FILES, retirements, caller)
