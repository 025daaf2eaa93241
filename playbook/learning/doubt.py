"""Put rules in doubt that evidence speaks against, until a person decides about them.

The evidence is harmful votes, a person's correction, or a file that is gone. A waiting proposal to retire the rule is the doubt: agents are given the rule
with the mark `contested` (decision 0011). Accepting retires the rule, rejecting confirms it.
Only a key that may attest can put a rule in doubt.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum

from django.db.models import F

from common.caller import Caller
from memories.store import files
from playbook.models import Anchor, PlaybookDelta, PlaybookEntry
from playbook.proposals import submission
from playbook.proposals.proposed_change import Operation, Producer, Proposal
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


def raise_doubts(
    project: Project, kind: DoubtKind, proposals: Sequence[Proposal], caller: Caller
) -> list[PlaybookDelta]:
    """Propose to retire entries, and put them in doubt if the caller may attest.

    An entry that is in doubt already gets no second proposal.
    """
    if not caller.attests_in(project.pk):
        return submission.propose(project, proposals, caller)
    known = _find_doubted(entry.pk for p in proposals if (entry := p.entry))
    doubts = [
        replace(proposal, doubt=kind.value)
        for proposal in proposals
        if proposal.entry and proposal.entry.pk not in known
    ]
    return submission.propose(project, doubts, caller)


def retirement(entry: PlaybookEntry, *, reason: str, evidence: str) -> Proposal:
    """Return a proposal to retire an entry. `evidence` names what speaks against it.

    The same evidence never gives a second proposal about the same text.
    """
    whole = f"{NAME}\n{entry.pk}\n{entry.version}\n{evidence}"
    return Proposal(
        operation=Operation.DEPRECATE,
        entry=entry,
        expected_version=entry.version,
        reason=reason,
        producer=Producer.RULE,
        producer_name=NAME,
        producer_version=VERSION,
        idempotency_key=hashlib.sha256(whole.encode()).hexdigest(),
    )


@files.on_removal
def doubt_gone(project: Project, paths: Sequence[str], caller: Caller) -> None:
    """Put the entries in doubt that name a file which an attested report says is gone."""
    anchors = Anchor.objects.filter(project_id=project.pk, file_path__in=paths)
    named = dict(anchors.order_by("-file_path").values_list("entry_id", "file_path"))
    entries = PlaybookEntry.objects.current().light().filter(pk__in=named)
    proposals = [
        retirement(
            entry,
            reason=f'The file "{named[entry.pk][:MAX_PATH]}" that {entry.label} names '
            "is gone.",
            evidence=f"{named[entry.pk]} {entry.verified_at}",
        )
        for entry in entries.order_by("pk")[:MAX_GONE]
    ]
    raise_doubts(project, DoubtKind.FILES, proposals, caller)


def _find_doubted(entry_ids: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    """Return the entries about whose present text a doubt waits."""
    rows = PlaybookDelta.objects.casting_doubt().filter(
        entry__in=list(entry_ids), expected_version=F("entry__version")
    )
    return set(rows.values_list("entry_id", flat=True))
