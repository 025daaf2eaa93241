"""A playbook for an agent, and its exports: ACE lines, a managed block, skills."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import yaml
from hypothesis import strategies as st

from common.text.quote import safe_line
from playbook.exchange import ace_format, export_playbook, managed_block, skill_files
from playbook.models import PlaybookEntry
from playbook.reading import renderer
from playbook.reading.renderer import EntryRow, RenderedEntry
from playbook.rule_text import entry_line
from projects.models import Project
from tests.renderers.context_lines import PATH
from tests.renderers.foreign_text import FILLED, FOREIGN
from tests.renderers.renderer import Renderer

MOMENT = datetime(2026, 3, 1, 10, tzinfo=UTC)
LABELS = st.from_regex(r"[a-z][a-z0-9-]{0,9}-[0-9]{5}", fullmatch=True)
CATEGORIES = st.sampled_from(["general", "gotchas", "best_practices"])
COUNTS = st.integers(0, 99)

RENDERED = st.builds(
    RenderedEntry,
    entry=st.builds(
        EntryRow,
        pk=st.uuids(),
        label=LABELS,
        content=FILLED,
        action=FOREIGN,
        version=st.just(1),
        pinned=st.booleans(),
        priority=st.just(0),
        helpful=COUNTS,
        harmful=COUNTS,
        updated_at=st.just(MOMENT),
        verified_at=st.none(),
        review_after=st.none(),
    ),
    relevance=st.none(),
    is_relevant=st.none(),
    reason=st.just("pinned"),
    is_contested=st.booleans(),
    suspect_files=st.lists(FILLED, max_size=2).map(tuple),
)


@dataclass(frozen=True)
class AgentLine:
    label: str
    text: str
    path: str = ""
    more: int = 0
    is_contested: bool = False


def agent_lines(text: str) -> list[AgentLine]:
    assert text == "" or text.endswith("\n")
    return [agent_line(line) for line in text.splitlines()]


def agent_line(line: str) -> AgentLine:
    """Read a line as an agent's program does: the label, the mark at the end, the text."""
    head = re.match(r"\[([a-z0-9-]+)\] ", line)
    assert head
    rest, found = line[head.end() :], {}
    if mark := re.search(rf" {entry_line.DOUBT}", rest):
        rest, found = rest[: mark.start()], doubt(mark[0])
    rest = re.sub(rf"(?:^|(?<= ))\\(?=\\*{entry_line.DOUBT})", "", rest)
    if rest.startswith(":: "):
        rest = rest[3:]
    else:
        assert not entry_line.COUNTERS.match(rest), rest
    return AgentLine(head[1], rest, **found)


def doubt(mark: str) -> dict[str, Any]:
    path, more = "", 0
    pattern = r'since (".*"|a file that it rests on) (?:and (\d+) more )?changed'
    if found := re.search(pattern, mark):
        path = json.loads(found[1]) if found[1].startswith('"') else found[1]
        more = int(found[2] or 0)
    return {"path": path, "more": more, "is_contested": mark.endswith("contested)")}


def expected_line(rendered: RenderedEntry) -> AgentLine:
    files = rendered.suspect_files
    content = rendered.entry.content
    named = [safe_line(path, PATH) for path in files if path in content]
    named += ["a file that it rests on"] if files else [""]
    return AgentLine(
        rendered.entry.label,
        safe_line(content),
        named[0],
        max(len(files) - 1, 0),
        rendered.is_contested,
    )


ENTRIES = st.lists(
    st.builds(
        PlaybookEntry,
        id=st.uuids(),
        label=LABELS,
        category=CATEGORIES,
        content=FILLED.filter(ace_format.canonical),
        helpful=COUNTS,
        harmful=COUNTS,
    ),
    max_size=3,
).map(lambda entries: sorted(entries, key=lambda entry: entry.category))


# How the reference implementation of ACE reads a rule.
OTHER_READER = re.compile(r"\[([^\]]+)\]\s*helpful=(\d+)\s*harmful=(\d+)\s*::\s*(.*)")


def ace_lines(text: str) -> list[Any]:
    """Read ACE lines; also as other readers do, which strip each line of any kind."""
    parsed = ace_format.parse(text)
    assert not parsed.unparsed
    assert not parsed.notes
    rules = [row for row in text.splitlines() if OTHER_READER.match(row.strip())]
    assert len(rules) == len(parsed.lines)
    headings = [row for row in text.splitlines() if row.strip().startswith("##")]
    assert len(headings) == len({line.section for line in parsed.lines})
    return [row_of(line) for line in parsed.lines]


def row_of(line: ace_format.RuleLine) -> tuple[Any, ...]:
    return line.label, line.text, line.helpful, line.harmful, line.section


def expected_ace(entries: list[PlaybookEntry]) -> list[Any]:
    return [
        (
            entry.label,
            ace_format.canonical(entry.content),
            entry.helpful,
            entry.harmful,
            entry.category,
        )
        for entry in entries
    ]


def block(entries: list[PlaybookEntry]) -> str:
    """Put the block into a document with text above and below."""
    body = managed_block.block(managed_block.format_entries(entries))
    document = managed_block.insert_block(b"# Team\n\nAbove.\n", body) + b"Below.\n"
    assert managed_block.insert_block(document, body) == document
    return document.decode()


def block_lines(text: str) -> list[Any]:
    assert text.count("<!--") == text.count("-->") == 3
    assert text.endswith(f"{managed_block.END}\nBelow.\n")
    parsed = ace_format.parse(managed_block.read_rules(text))
    assert not parsed.unparsed
    assert not parsed.notes
    return [row_of(line) for line in parsed.lines]


def expected_block(entries: list[PlaybookEntry]) -> list[Any]:
    return [
        (entry.label, safe_line(entry.content), 0, 0, entry.category)
        for entry in entries
    ]


SKILL_PROJECTS = st.builds(Project, id=st.uuids(), name=FILLED)
PLACED = st.tuples(
    ENTRIES, st.lists(st.sampled_from([(), ("tool:gh",), ("always",)]), min_size=3)
).map(lambda pair: [place(entry, where) for entry, where in zip(*pair, strict=False)])
SKILL_NAME = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")


def place(entry: PlaybookEntry, where: tuple[str, ...]) -> PlaybookEntry:
    entry.applies_to = list(where)
    return entry


def skills(text: str) -> list[Any]:
    """Read the files as harnesses do, by their front matter, and their rules by lines."""
    found = []
    for path, content in json.loads(text)["files"].items():
        head, body = content.removeprefix("---\n").split("\n---\n", 1)
        front = yaml.safe_load(head)
        assert path == f"{front['name']}/SKILL.md"
        assert SKILL_NAME.fullmatch(front["name"])
        assert 0 < len(front["description"]) <= 1024
        assert set(front) == {"name", "description", "metadata"}
        parsed = ace_format.parse(body)
        assert not parsed.unparsed
        assert not parsed.notes
        found += [(line.label, line.text) for line in parsed.lines]
    return sorted(found)


def expected_skills(rows: tuple[Project, list[PlaybookEntry]]) -> list[Any]:
    return sorted(
        (entry.label, skill_files.safe_text(entry.content))
        for entry in rows[1]
        if "tool:gh" in entry.applies_to
    )


RENDERERS = (
    Renderer(
        "playbook render",
        ("playbook.rule_text.entry_line", "playbook.reading.renderer"),
        st.lists(RENDERED, max_size=3),
        renderer.write_lines,
        agent_lines,
        lambda rows: [expected_line(row) for row in rows],
    ),
    Renderer(
        "ACE lines",
        ("playbook.exchange.ace_format", "playbook.exchange.export_playbook"),
        ENTRIES,
        export_playbook.format_ace,
        ace_lines,
        expected_ace,
    ),
    Renderer(
        "managed block",
        ("playbook.exchange.managed_block",),
        ENTRIES,
        block,
        block_lines,
        expected_block,
    ),
    Renderer(
        "skill files",
        ("playbook.exchange.skill_files",),
        st.tuples(SKILL_PROJECTS, PLACED),
        lambda rows: skill_files.write(*rows),
        skills,
        expected_skills,
    ),
)
