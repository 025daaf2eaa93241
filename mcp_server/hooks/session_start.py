"""What a session, or a subagent in it, starts with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from django.urls import reverse
from django.utils import timezone

from common.caller import Caller, Role
from context.card import card
from context.card.card_line import CardLine
from context.headings import ACCEPTED, HEADINGS, ONLY_RULES, OWN
from context.memory_lines import EarlierTexts
from inference import tokens
from mcp_server.hooks import (
    branch_files,
    given_line,
    lesson_lines,
    rule_lines,
)
from mcp_server.hooks.given_line import GivenLine, Section
from mcp_server.hooks.hook_event import HookEvent
from mcp_server.hooks.pushes import digest
from mcp_server.models import Push
from playbook.models import PlaybookDelta
from projects.models import Project

OPENING = f"What earlier sessions of this project taught; {ONLY_RULES}"
MAX_TOKENS = 1_200  # with the fence
OVERHEAD = given_line.FENCE_TOKENS + tokens.estimate(f"{OPENING}\n")
# Tokens of a section. What one section leaves, the ones after it may use.
PINNED_TOKENS = 700
CARD_TOKENS, RULE_TOKENS, OWN_TOKENS, NOTICE_TOKENS = 300, 500, 150, 80


def find(
    project: Project,
    event: HookEvent,
    caller: Caller,
    *,
    server: str,
    before: Sequence[Section] = (),
) -> list[Section]:
    """Return the sections, the most important first.

    What a rule says that is given, no other section says; what a line of the card says, the
    sections after it leave out. A rule that the sections `before` leave no room for takes
    nothing along.
    """
    files = branch_files.read(project, event, caller)
    told = lesson_lines.find_pinned(project, caller, files, max_tokens=PINNED_TOKENS)
    pinned = Section("Told for every session:", told, PINNED_TOKENS)
    notices = Section(
        "For a curator:", _notices(project, caller, server), NOTICE_TOKENS
    )
    lines = card.make(project, caller).lines
    rules = rule_lines.sections(
        rule_lines.find(project, caller, files), f"{ACCEPTED}:", RULE_TOKENS
    )
    first = [*before, pinned, notices, _card_section(lines)]
    given = _rules_in(given_line.lines_in([*first, *rules], MAX_TOKENS - OVERHEAD))
    rules = [_put_first(section, given) for section in rules]
    ids, texts = given_line.ids_of(given), [line.text for line in given]
    cards = _leave_out_said(card.without_rules(lines, ids), texts)
    known = [line.text for line in told] + [line.text for line in cards]
    said = [*known, *texts]
    own = rule_lines.find_own(project, caller, said=said)
    lessons = lesson_lines.find_newest(
        project,
        caller,
        files,
        session=event.session,
        said=said,
        rules=ids,
        lessons=card.said_lessons(cards),
    )
    return [
        pinned,
        notices,
        _card_section(cards),
        *rules,
        Section(f"{OWN}:", own, OWN_TOKENS),
        Section("Newest lessons:", lessons, MAX_TOKENS),
    ]


def _rules_in(lines: Iterable[GivenLine]) -> list[GivenLine]:
    return [line for line in lines if line.kind == Push.PushKind.RULE]


def _put_first(section: Section, given: Collection[GivenLine]) -> Section:
    """Return the section with the lines that have room before the others, in their order."""
    return replace(section, lines=sorted(section.lines, key=lambda x: x not in given))


def _leave_out_said(lines: Iterable[CardLine], texts: Iterable[str]) -> list[CardLine]:
    """Return the lines of the card but those that one of these rules states."""
    earlier = EarlierTexts()
    earlier.add(*texts)
    return [line for line in lines if not earlier.has(line.text)]


def _card_section(lines: Iterable[CardLine]) -> Section:
    return Section(HEADINGS["card"], [_of_card(line) for line in lines], CARD_TOKENS)


def _of_card(line: CardLine) -> GivenLine:
    """Return a line of the project card; a changed line is another one."""
    return GivenLine(Push.PushKind.CARD, digest(line.text), line.text)


def _notices(project: Project, caller: Caller, server: str) -> Sequence[GivenLine]:
    """Return a line about the waiting proposals, to the agent of a curator."""
    if not caller.may(Role.CURATOR, project.pk) or caller.user_id:
        return ()
    waiting = PlaybookDelta.objects.visible_to(caller).filter(project=project)
    waiting = waiting.pending()
    count = waiting.count()
    if not count:
        return ()
    oldest = waiting.order_by("pk").values_list("created_at", flat=True)[0]
    days = (timezone.now() - oldest).days
    link = f"{server.rstrip('/')}{reverse('console:inbox')}?project={project.pk}"
    noun, verb = ("proposal", "waits") if count == 1 else ("proposals", "wait")
    age = f", the oldest for {days} {'day' if days == 1 else 'days'}" if days else ""
    text = f"{count:,} {noun} {verb}{age}: {link}"
    return (GivenLine(Push.PushKind.NOTICE, "proposals", text),)
