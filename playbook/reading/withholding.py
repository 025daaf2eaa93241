"""Withhold one rule in ten from a session, so that the difference a rule makes can be counted.

A rule that a person wrote, pinned or locked is never withheld.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection

from django.db.models import Q

from common.caller import Caller
from playbook.models import Exposure, PlaybookEntry
from projects.models import Project

ONE_IN = 10
MIN_SESSIONS = 50  # that were given rules, before the first one is withheld
MAY_BE_WITHHELD = Q(pinned=False, locked=False) & ~Q(author_kind="human")


def digest_of(session: str) -> str:
    """Return the name under which exposures keep a session; "" for none."""
    whole = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()
    return whole[:32] if session else ""


def draw(
    project: Project, rules: Collection[uuid.UUID], caller: Caller, session: str
) -> frozenset[uuid.UUID]:
    """Return those of the rules that a session is not given: always the same ones.

    A person, and a call that names no session, are given all of them.
    """
    if not (session and caller.key_id and project.options.withhold):
        return frozenset()
    drawn = [pk for pk in rules if _is_drawn(pk, session)]
    if not drawn or not _has_sessions(project):
        return frozenset()
    rows = PlaybookEntry.objects.filter(MAY_BE_WITHHELD, pk__in=drawn).order_by()
    return frozenset(rows.values_list("pk", flat=True))


def _is_drawn(rule: uuid.UUID, session: str) -> bool:
    drawn = hashlib.sha256(f"{rule} {digest_of(session)}".encode()).digest()
    return int.from_bytes(drawn[:8]) % ONE_IN == 0


def _has_sessions(project: Project) -> bool:
    rows = Exposure.objects.filter(project=project).exclude(session="").order_by()
    sessions = rows.values("session").distinct()[:MIN_SESSIONS]
    return sessions.count() == MIN_SESSIONS
