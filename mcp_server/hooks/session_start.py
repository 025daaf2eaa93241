"""What a session, or a subagent in it, starts with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from django.urls import reverse
from django.utils import timezone

from common.caller import Caller, Role
from context.card import card
from context.card.card_line import CardLine
from context.headings import ACCEPTED, HEADINGS, ONLY_RULES, OWN, UNREVIEWED
from context.memory_lines import EarlierTexts
from inference import tokens
from mcp_server.hooks import branch_files, given_line, lesson_lines, rule_lines
from mcp_server.hooks.given_line import GivenLine, Section, ToldLines
from mcp_server.hooks.hook_event import HookEvent
from mcp_server.hooks.pushes import digest
from mcp_server.models import Push
from playbook.models import PlaybookDelta
from projects.models import Project

OPENING = f"What earlier sessions of this project taught; {ONLY_RULES}"
MAX_TOKENS = 1_200  # with the fence
OVERHEAD = given_line.FENCE_TOKENS + tokens.estimate(f"{OPENING}\n")
# Tokens of a section. What one section leaves, the ones after it may use.
# Memories and rules that were told may each have half of theirs, or what the other leaves.
TOLD_TOKENS = 900
CARD_TOKENS, RULE_TOKENS, OWN_TOKENS, NOTICE_TOKENS = 300, 300, 150, 80
LEFT_OUT_TOKENS = 25  # of the line that counts what has no room


def find(
    project: Project,
    event: HookEvent,
    caller: Caller,
    *,
    server: str,
    before: Sequence[Section] = (),
) -> list[Section]:
    """Return the sections, the most important first; the last one keeps its room.

    What a line says, the sections after it leave out. What people told, and the rules that
    they stand behind, have room first; those without are counted.
    """
    files = branch_files.read(project, event, caller)
    notices = Section(
        "For a curator:",
        _notices(project, caller, server),
        NOTICE_TOKENS,
        keeps_room=True,
    )
    room = given_line.room_beside([notices, *before], MAX_TOKENS - OVERHEAD)
    rules = rule_lines.find(project, caller, files)
    told = _share_room(
        lesson_lines.find_told(project, caller, files),
        rules.told,
        min(TOLD_TOKENS, room),
    )
    first = [*told, Section(UNREVIEWED, rules.others, RULE_TOKENS)]
    given = given_line.lines_in([*before, *first], MAX_TOKENS - OVERHEAD)
    said = [line.text for line in given]
    ids = given_line.ids_of(x for x in given if x.kind == Push.PushKind.RULE)
    cards = card.without_rules(card.make(project, caller).lines, ids)
    cards = _leave_out_said(cards, said)
    said += [line.text for line in cards]
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
        *first,
        Section(
            HEADINGS["card"], [_build_counted(line.text) for line in cards], CARD_TOKENS
        ),
        Section(f"{OWN}:", own, OWN_TOKENS),
        Section("Newest lessons:", lessons, MAX_TOKENS),
        notices,
    ]


def _share_room(memories: ToldLines, rules: ToldLines, room: int) -> list[Section]:
    half = room // 2
    of_rules = _fit("", rules, half)
    first = _fit("Told for every session:", memories, room - of_rules.size)
    return [first, _fit(f"{ACCEPTED}:", rules, room - first.size)]


def _fit(heading: str, told: ToldLines, room: int) -> Section:
    """Return the lines that have room, and a line that counts those without."""
    whole = Section(heading, told.lines, room)
    shown = given_line.lines_in([whole], room)
    if len(shown) < told.count:
        less = replace(whole, tokens=room - LEFT_OUT_TOKENS)
        shown = given_line.lines_in([less], room)
        shown.append(_build_counted(told.describe_left_out(told.count - len(shown))))
    return replace(whole, lines=shown)


def _leave_out_said(lines: Iterable[CardLine], texts: Iterable[str]) -> list[CardLine]:
    """Return the lines of the card but those that one of these rules states."""
    earlier = EarlierTexts()
    earlier.add(*texts)
    return [line for line in lines if not earlier.has(line.text)]


def _build_counted(text: str) -> GivenLine:
    """Return a line of what was counted; a changed line is another one."""
    return GivenLine(Push.PushKind.CARD, digest(text), text)


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
