"""Panels of a digest: the text, the lines with their sources, the omitted memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import HttpRequest

from common.admin import panels
from common.admin.model_admin import caller_of
from common.admin.panels import PANEL_LIMIT, Panel, row_link, short_text
from context.digest.assemble import Digest
from memories.models import Memory

MEMORY = "memories_memory"
# The number of rows in each table; the sources return at most 380 candidates.
MAX_CANDIDATES = 400


def render(request: HttpRequest, digest: Digest) -> Iterable[Panel]:
    yield Panel(
        "Digest", [""], [[panels.text_block(digest.text)]] if digest.text else []
    )
    yield panels.table(
        "In it",
        ["Rank", "Memory", "Kind", "Found by", "Characters", "Tokens", "Cut"],
        (
            [
                one.rank,
                row_link(MEMORY, one.memory.pk, one.memory),
                one.memory.kind,
                source_text(one.sources, one.scores),
                f"{one.cost['chars']:,}",
                f"{one.cost['tokens']:,}",
                "cut" if one.is_cut else "",
            ]
            for one in digest.included
        ),
        empty="No line.",
        most=MAX_CANDIDATES,
    )
    yield _omitted_panel(request, digest)
    yield _budgets(digest)
    yield _sources(digest)


def source_text(sources: Iterable[str], scores: Mapping[str, float]) -> str:
    names = (
        f"{name} {scores[name]:.3f}" if name in scores else name for name in sources
    )
    return ", ".join(names)


def _omitted_panel(request: HttpRequest, digest: Digest) -> Panel:
    ids = [one.memory_id for one in digest.omitted]
    memories = Memory.objects.visible_to(caller_of(request)).light().in_bulk(ids)
    return panels.table(
        "Left out",
        ["Rank", "Memory", "Kind", "Found by", "Why"],
        (
            [
                one.rank,
                row_link(MEMORY, one.memory_id, memories.get(one.memory_id, "")),
                one.kind,
                ", ".join(one.sources),
                one.reason,
            ]
            for one in digest.omitted
        ),
        empty="No candidate.",
        most=MAX_CANDIDATES,
    )


def _budgets(digest: Digest) -> Panel:
    return panels.table(
        "Budget used",
        ["", "Items", "Characters", "Tokens"],
        (
            [name, used["items"], f"{used['chars']:,}", f"{used['tokens']:,}"]
            for name, used in digest.used.items()
        ),
        empty="Nothing.",
    )


def _sources(digest: Digest) -> Panel:
    rows: list[list[Any]] = [[name, count] for name, count in digest.counts.items()]
    rows += [["note", short_text(note, PANEL_LIMIT)] for note in digest.notes]
    rows += [
        [f"{name} is behind", "a worker has work waiting"]
        for name, is_behind in digest.behind.items()
        if is_behind
    ]
    return Panel("Sources", ["Source", "Found"], rows, "No source was asked.")
