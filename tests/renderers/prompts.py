"""Prompts for a language model: fenced texts, and the lines inside of them."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

from ace.curate import by_model
from ace.reflect import reflector_prompt
from ace.rules import evidence
from ace.rules.task import Task
from common.text import secrets
from common.text.quote import safe_line, visible_line, visible_text
from inference.language.fence import FencedText, fence_texts
from tests.renderers.context_lines import ENTRIES
from tests.renderers.foreign_text import FILLED, FOREIGN
from tests.renderers.line_reader import LineReader
from tests.renderers.renderer import Renderer

FENCED = st.lists(st.builds(FencedText, name=FILLED, text=FOREIGN), max_size=3)


def fenced(text: str) -> list[tuple[str, str]]:
    marker = re.search(r"^==== ([0-9a-f]{16}) end\Z", text, re.MULTILINE)
    assert marker
    _, *parts = re.split(rf"^==== {marker[1]} ", text, flags=re.MULTILINE)
    assert parts.pop() == "end"
    pairs = (part.removesuffix("\n").split("\n", 1) for part in parts)
    return [(name, body) for name, body in pairs]


def expected_fenced(texts: list[FencedText]) -> list[tuple[str, str]]:
    return [
        (visible_line(each.name), visible_text(secrets.mask(each.text).text))
        for each in texts
    ]


CANDIDATES = st.tuples(
    FILLED, st.lists(FOREIGN, max_size=3), st.lists(ENTRIES, max_size=3)
)


def candidate(row: Any) -> str:
    content, quotes, entries = row
    lesson = {"content": content, "evidence": [{"quote": quote} for quote in quotes]}
    parts = by_model.prompt_parts(by_model.LessonCandidate(0, lesson, entries))
    return "\n==\n".join(part.text for part in parts)


def candidate_rows(text: str) -> Any:
    lesson, rules = text.split("\n==\n")
    content, heading, *quotes = lesson.split("\n")
    assert heading == "Its quotes:"
    assert all(quote.startswith("- ") for quote in quotes)
    found = [json.loads(quote[2:]) for quote in quotes]
    lines = [rule_of(LineReader(line)) for line in rules.split("\n") if rules]
    return json.loads(content), found, lines


def rule_of(reader: LineReader) -> tuple[Any, ...]:
    reader.skip("[")
    label = reader.match(r"[a-z0-9-]+")
    reader.skip("] ")
    counts = [
        int(n) for n in re.findall(r"\d+", reader.match(r"helpful=\d+ harmful=\d+"))
    ]
    reader.skip(" :: ")
    content = reader.string()
    reader.end()
    return label, *counts, content


def expected_candidate(row: Any) -> Any:
    content, quotes, entries = row
    lines = [
        (entry.label, entry.helpful, entry.harmful, safe_line(entry.content))
        for entry in entries
    ]
    return content, quotes, lines


def hints(texts: list[str]) -> str:
    task = Task(goal="", result="".join(texts), feedback="")
    found, at = [], 0
    for text in texts:
        found.append(evidence.make("error", "result", at, at + len(text), "x"))
        at += len(text)
    findings: Any = SimpleNamespace(evidence=found)
    return reflector_prompt.format_hints(task, findings)


def hint_rows(text: str) -> list[str]:
    rows = [LineReader(line) for line in text.split("\n") if text]
    found = []
    for row in rows:
        row.skip("error in result: ")
        found.append(row.string())
        row.end()
    return found


RENDERERS = (
    Renderer(
        "fence of a prompt",
        ("inference.language.fence",),
        FENCED,
        fence_texts,
        fenced,
        expected_fenced,
    ),
    Renderer(
        "prompt of the curator",
        ("ace.curate.by_model",),
        CANDIDATES,
        candidate,
        candidate_rows,
        expected_candidate,
    ),
    Renderer(
        "prompt of the reflector",
        ("ace.reflect.reflector_prompt",),
        st.lists(FOREIGN.filter(lambda text: len(text) <= 200), max_size=3),
        hints,
        hint_rows,
        lambda texts: texts,
    ),
)
