"""Measure how well a search finds the turns, and the session, that answer a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.datasets.dialogues import DialogueQuestion, DialogueSet
from benchmarks.fixtures import temp_project
from benchmarks.report import quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from conversations.messages.append import append, prepare
from conversations.models import Message, MessageVector
from conversations.search_index import search_columns
from conversations.session_search.search import SearchFilters, SessionSearch, find
from conversations.sessions.lifecycle import SessionDraft, bootstrap
from projects.models import Project
from search import statistics
from search.search import Mode

LANES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
HITS = 100
AGENT = "benchmark"


@dataclass(frozen=True)
class FoundEvidence:
    """The turns and the sessions that a search found for a question, best first."""

    question: DialogueQuestion
    turns: list[str]
    sessions: list[str]


def measure(dialogues: DialogueSet, *, keep: bool) -> list[dict[str, Any]]:
    """Return a row for each unit (turn, session), lane, and with or without neighbours."""
    with temp_project.create_project("conversations", keep=keep) as project:
        session_of = _fill(project, dialogues)
        rows: list[dict[str, Any]] = []
        found = {
            (lane, neighbours): _ask_all(project, dialogues, lane, neighbours)
            for lane in LANES
            for neighbours in (False, True)
        }
        for (lane, neighbours), answers in found.items():
            for unit in ("turn", "session"):
                rows.append(
                    {
                        "set": dialogues.name,
                        "unit": unit,
                        "lane": lane,
                        "neighbours": neighbours,
                        **_recalls(answers, unit, session_of),
                    }
                )
        _add_leads(rows, found, session_of)
    return rows


def _fill(project: Project, dialogues: DialogueSet) -> dict[str, str]:
    """Store the sessions, embed them, and return {turn: session}."""
    session_of: dict[str, str] = {}
    bar = ProgressBar(f"{dialogues.name}: sessions", len(dialogues.sessions))
    for one in bar.over(dialogues.sessions):
        draft = SessionDraft(one.key, agent_id=AGENT, user_id=one.dialogue)
        session, _ = bootstrap(project, draft, SYSTEM)
        append(project, session, prepare(project, one.messages), SYSTEM)
        session_of |= dict.fromkeys(one.turn_ids, one.key)
    temp_project.run_job("embed_messages", project, lambda done: None)
    rows = Message.objects.visible()
    statistics.rebuild(rows, project_id=project.pk, name=search_columns.MESSAGES)
    temp_project.analyze(Message, MessageVector)
    return session_of


def _ask_all(
    project: Project, dialogues: DialogueSet, lane: Mode, neighbours: bool
) -> list[FoundEvidence]:
    name = f"{dialogues.name}: {lane}{', neighbours' if neighbours else ''}"
    bar = ProgressBar(name, len(dialogues.questions))
    return [
        _ask(project, question, lane, neighbours)
        for question in bar.over(dialogues.questions)
    ]


def _ask(
    project: Project, question: DialogueQuestion, lane: Mode, neighbours: bool
) -> FoundEvidence:
    wanted = SessionSearch(
        question.text,
        scope="messages",
        mode=lane,
        limit=HITS,
        filters=SearchFilters(user_id=question.dialogue),
        with_neighbours=neighbours,
    )
    hits = find(project, wanted, SYSTEM).hits
    rows = Message.objects.filter(pk__in=[hit.source_id for hit in hits])
    ids = {str(pk): name for pk, name in rows.values_list("pk", "external_id")}
    sessions = list(dict.fromkeys(hit.session for hit in hits))
    return FoundEvidence(question, [ids[hit.source_id] for hit in hits], sessions)


def _recall(
    found: FoundEvidence, unit: str, session_of: dict[str, str], k: int
) -> float:
    if unit == "turn":
        grades = dict.fromkeys(found.question.evidence, 1.0)
        return quality_metrics.recall(found.turns[:k], grades)
    wanted = {session_of[turn] for turn in found.question.evidence}
    return quality_metrics.recall(found.sessions[:k], dict.fromkeys(wanted, 1.0))


def _recalls(
    answers: Sequence[FoundEvidence], unit: str, session_of: dict[str, str]
) -> dict[str, float]:
    found = {
        f"recall_{k}": round(
            quality_metrics.mean([_recall(a, unit, session_of, k) for a in answers]), 4
        )
        for k in (5, 10)
    }
    if unit == "session":
        found["any_of_5_lowest"] = round(_lowest_dialogue(answers, session_of), 4)
        found["any_of_5"] = round(
            quality_metrics.mean([_has_any(a, session_of) for a in answers]), 4
        )
    return found


def _lowest_dialogue(
    answers: Sequence[FoundEvidence], session_of: dict[str, str]
) -> float:
    """Return the share of questions whose session is found, in the poorest dialogue."""
    by_dialogue: dict[str, list[float]] = {}
    for each in answers:
        shares = by_dialogue.setdefault(each.question.dialogue, [])
        shares.append(_has_any(each, session_of))
    return min(map(quality_metrics.mean, by_dialogue.values()), default=0.0)


def _has_any(found: FoundEvidence, session_of: dict[str, str]) -> float:
    wanted = {session_of[turn] for turn in found.question.evidence}
    return float(bool(wanted & set(found.sessions[:5])))


def _add_leads(
    rows: list[dict[str, Any]],
    found: dict[tuple[Mode, bool], list[FoundEvidence]],
    session_of: dict[str, str],
) -> None:
    """Add to the hybrid's row of turns what the neighbours gain, paired, with 95 % bounds."""
    pairs = zip(found["hybrid", True], found["hybrid", False], strict=True)
    gains = [
        _recall(after, "turn", session_of, 10) - _recall(before, "turn", session_of, 10)
        for after, before in pairs
    ]
    bounds = quality_metrics.bootstrap_interval(gains)
    for row in rows:
        if row["unit"] == "turn" and row["lane"] == "hybrid" and row["neighbours"]:
            row["gain"] = round(quality_metrics.mean(gains), 4)
            row["gain_bounds"] = [round(bound, 4) for bound in bounds]


def _any_cell(row: dict[str, Any]) -> str:
    if "any_of_5" not in row:
        return ""
    return f"{row['any_of_5']:.3f}, lowest {row['any_of_5_lowest']:.3f}"


def table(rows: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    yield ["set, unit, lane", "neighbours", "recall@5", "recall@10", "any of 5", "gain"]
    for row in rows:
        gain = ""
        if "gain" in row:
            low, high = row["gain_bounds"]
            gain = f"{row['gain']:+.3f} [{low:+.3f}, {high:+.3f}]"
        yield [
            f"{row['set']}, {row['unit']}, {row['lane']}",
            "yes" if row["neighbours"] else "no",
            f"{row['recall_5']:.3f}",
            f"{row['recall_10']:.3f}",
            _any_cell(row),
            gain,
        ]
