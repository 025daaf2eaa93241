"""Read, set and roll back the profile and the soul of an agent memory."""

from __future__ import annotations

from typing import NamedTuple

from common import errors
from common.caller import Caller, Role
from common.db import write
from conversations import sources
from conversations.agent_memory import changelog, danger_gate
from conversations.agent_memory.pair import MemoryPair
from conversations.models import AgentMemory, Session

MAX_CHARACTERS = 20_000  # of a profile, and of a soul
SCOPES = ("profile", "soul")
MAX_ROLLBACK = 100  # changes back to which a text can be rolled (07a, P11)


class VersionedText(NamedTuple):
    """A text, and the version of the agent memory in which it was read."""

    text: str
    version: int


def read_text(
    pair: MemoryPair, scope: str, *, version: int | None = None
) -> VersionedText:
    """Return the profile or the soul, "" if there is none.

    `version` is a snapshot's version, where 0 is before the first write; None is now.
    """
    if version is None:
        memory = pair.find()
        return VersionedText(getattr(memory, scope), memory.version)
    return VersionedText(changelog.text_at(pair, scope, version), version)


@write
def set_text(
    pair: MemoryPair,
    scope: str,
    text: str,
    caller: Caller,
    *,
    source: str = "agent",
    session: Session | None = None,
    expected_version: int | None = None,
) -> VersionedText:
    """Replace the profile or the soul; the session named sees it at once.

    Refuse a text that is too long, and with 409 if the agent memory no longer has the
    expected version.
    """
    caller.require(Role.WRITER, pair.project.pk)
    sources.require_voice(pair.user_id, pair.project.pk, caller)
    sources.require_source(source, pair.project.pk, pair.user_id, caller)
    refuse_long(f"A {scope}", text, MAX_CHARACTERS)
    danger_gate.refuse_danger(pair.project, text, caller)
    memory = pair.lock()
    if expected_version not in (None, memory.version):
        raise errors.StaleVersion
    _replace(memory, scope, text, source, session, caller)
    return VersionedText(text, memory.version)


def refuse_long(name: str, text: str, most: int) -> None:
    if len(text) > most:
        sentence = (
            f"{name} has at most {most:,} characters; this one has {len(text):,}."
        )
        raise errors.Invalid(sentence, errors={"text": [sentence]})


@write
def roll_back(
    pair: MemoryPair,
    scope: str,
    version: int,
    caller: Caller,
    *,
    session: Session | None = None,
) -> VersionedText:
    """Write the text of an earlier version again, as a change of the user.

    The version must be one of the last hundred changes of this text.
    """
    caller.require(Role.WRITER, pair.project.pk)
    sources.require_voice(pair.user_id, pair.project.pk, caller)
    sources.require_source("user", pair.project.pk, pair.user_id, caller)
    memory = pair.lock()
    newest = changelog.changes_of(pair).filter(scope=scope)[:MAX_ROLLBACK]
    texts = {row.version_after: row.after_text for row in newest}
    if version <= 0 or version not in texts:
        raise errors.NotFound(
            f"There is no version {version} of the {scope} among its last "
            f"{MAX_ROLLBACK} changes."
        )
    danger_gate.refuse_danger(pair.project, texts[version], caller)
    _replace(memory, scope, texts[version], "user", session, caller)
    return VersionedText(texts[version], memory.version)


def _replace(
    memory: AgentMemory,
    scope: str,
    text: str,
    source: str,
    session: Session | None,
    caller: Caller,
) -> None:
    before = getattr(memory, scope)
    setattr(memory, scope, text)
    changelog.record_change(
        memory, scope, before, text, source=source, session=session, caller=caller
    )
