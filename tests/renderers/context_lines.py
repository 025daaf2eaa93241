"""The digest and the context of a task: a line for each memory, rule or file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from common.text.quote import json_value, safe_line
from context import memory_lines, selection, task_context
from context.decisions.quotes import shorten
from context.digest import digest_lines
from context.files import file_lines
from context.files.recommended_file import FileList, RecommendedFile
from context.headings import HEADINGS
from context.selection import Budget, CandidateLine
from context.task_context import RelevantMemory
from context.task_rules import RelevantRule
from memories.models import Memory
from memories.read.search import LaneRank, MemoryHit
from playbook.models import PlaybookEntry
from playbook.reading import entry_list
from tests.renderers.foreign_text import FILLED, FOREIGN, JSON, LONG
from tests.renderers.line_reader import LineReader
from tests.renderers.renderer import Renderer

MOMENT = datetime(2026, 3, 1, 10, tzinfo=UTC)
FIELD, SNIPPET, PATH = 200, 600, 80
WIDE = Budget(items=99, chars=10**6)

MEMORIES = st.builds(
    Memory,
    id=st.uuids(),
    kind=st.sampled_from(Memory.Kind.values),
    sensitivity=st.sampled_from(Memory.Sensitivity.values),
    title=FOREIGN,
    key=FOREIGN,
    value=JSON,
    content=LONG,
    confidence=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    occurred_at=st.sampled_from([None, MOMENT]),
    source=st.sampled_from(Memory.Source.values) | FILLED,
    provenance=st.fixed_dictionaries(
        {},
        optional={
            "channel": FOREIGN | JSON,
            "thread_id": FOREIGN,
            "conversation_id": FOREIGN,
            "refs": st.lists(FOREIGN, max_size=7) | JSON,
        },
    ),
)


def memory_of(reader: LineReader) -> dict[str, Any]:
    """Read the line of a memory from its kind on."""
    found: dict[str, Any] = {"kind": reader.match(r"[a-z]+")}
    reader.skip("] ")
    found["id"] = reader.match(r"[0-9a-f-]{36}")
    reader.skip(" (")
    found["sensitivity"] = reader.match(r"[a-z]+")
    reader.skip(")")
    for name in ("title", "key", "value"):
        if reader.has(f" {name}="):
            found[name] = reader.json()
    if reader.has(" conf="):
        found["confidence"] = float(reader.match(r"\d\.\d\d"))
    if reader.has(" occurred_at="):
        found["occurred_at"] = reader.match(r"[0-9T:+-]+")
    reader.skip(" — ")
    found["content"] = reader.string()
    reader.skip(" (prov=")
    found["source"] = reader.name()
    for name in ("channel", "thread", "conversation"):
        if reader.has(f" {name}="):
            found[name] = reader.json()
    if reader.has(" refs="):
        found["refs"] = refs_of(reader)
    reader.skip(")")
    reader.end()
    return found


def refs_of(reader: LineReader) -> list[Any]:
    count, refs = int(reader.match(r"\d+")), []
    reader.skip("(")
    while not reader.has(")"):
        if not reader.has("…"):
            refs.append(reader.json())
        reader.has(", ")
    assert len(refs) == min(count, 5)
    return refs


def expected_memory(memory: Memory) -> dict[str, Any]:
    is_fact = memory.kind == "fact"
    found = {
        "kind": memory.kind,
        "id": str(memory.pk),
        "sensitivity": memory.sensitivity,
        "content": safe_line(memory.content, SNIPPET),
        "source": safe_line(memory.source, FIELD),
    }
    if is_fact:
        found["key"] = safe_line(memory.key, FIELD)
        found["value"] = json.loads(json_value(memory.value))
    elif memory.kind == "episode":
        if memory.occurred_at:
            found["occurred_at"] = memory.occurred_at.isoformat()
    elif memory.title:
        found["title"] = safe_line(memory.title, FIELD)
    if memory.kind in ("fact", "procedure") and memory.confidence is not None:
        found["confidence"] = memory.confidence
    known = memory.provenance
    for name, key in digest_lines.ORIGINS:
        if known.get(key):
            found[name] = json.loads(json_value(known[key]))
    if isinstance(known.get("refs"), list) and known["refs"]:
        found["refs"] = [json.loads(json_value(ref)) for ref in known["refs"][:5]]
    return found


def digest(memories: list[Memory]) -> str:
    lines = [digest_lines.of_memory(memory) for memory in memories]
    kinds = dict.fromkeys(Memory.Kind.values, WIDE)
    chosen = selection.select(lines, total=WIDE, kinds=kinds)
    return "".join(f"{line.text}\n" for line in chosen.lines)


def lines_of(text: str) -> list[str]:
    assert text == "" or text.endswith("\n")
    return text.splitlines()


def digest_memories(text: str) -> list[dict[str, Any]]:
    found = []
    for line in lines_of(text):
        reader = LineReader(line)
        reader.skip("- [")
        found.append(memory_of(reader))
    return found


ENTRIES = st.builds(
    PlaybookEntry,
    id=st.uuids(),
    label=st.from_regex(r"[a-z][a-z0-9-]{0,9}-[0-9]{5}", fullmatch=True),
    category=st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True) | FILLED,
    content=LONG,
    helpful=st.integers(0, 99),
    harmful=st.integers(0, 99),
)
PATHS = FILLED


@st.composite
def relevant_rules(draw: st.DrawFn) -> RelevantRule:
    entry: Any = draw(ENTRIES)
    entry.named_changed = draw(st.lists(PATHS, max_size=2))
    if entry.named_changed and draw(st.booleans()):
        entry.content = f"{entry.named_changed[0]} {entry.content}"
    entry.linked_changed = []
    entry.is_in_doubt = draw(st.booleans())
    entry.is_disputed = False
    entry.is_of_person = draw(st.booleans())
    return RelevantRule(entry, 1.0, "")


@st.composite
def task_memories(draw: st.DrawFn) -> Memory:
    """A memory as a search returns it: its file links are loaded."""
    memory = draw(TASK_MEMORIES)
    memory._prefetched_objects_cache = {"file_links": []}  # type: ignore[attr-defined]  # Django's
    return memory


TASK_MEMORIES = st.builds(
    Memory,
    id=st.uuids(),
    kind=st.sampled_from(Memory.Kind.values),
    title=FOREIGN,
    key=FOREIGN,
    value=JSON,
    content=LONG,
    goal=FOREIGN,
    result=LONG,
    feedback=FOREIGN,
    lessons=FOREIGN,
    created_at=st.just(MOMENT),
)
HITS = st.builds(
    MemoryHit,
    memory=task_memories(),
    score=st.just(1.0),
    lanes=st.just({"keyword": LaneRank(1, 1.0)}),
    snippet=st.just(""),
)
FILES = st.builds(
    RecommendedFile,
    file_path=PATHS,
    score=st.just(1.0),
    memory_ids=st.just(()),
    reason=st.just("named in the task"),
    purpose=FILLED,
)
TASKS = st.tuples(
    st.lists(relevant_rules(), max_size=2),
    st.lists(HITS, max_size=2),
    st.lists(FILES, max_size=2).map(lambda files: FileList(tuple(files))),
)


def task_text(items: Any) -> str:
    rules, hits, files = items
    lines = memory_lines.build([hit.memory for hit in hits], [])
    memories = [
        RelevantMemory(hit, "", line)
        for hit in hits
        for line in lines
        if line.memory is hit.memory
    ]
    chosen = task_context.select_lines(rules, memories, files, 10**6)
    return task_context.write(chosen, 10**6)


def task_items(text: str) -> list[Any]:
    if text == task_context.NOTHING:
        return []
    opening, *lines = lines_of(text)
    assert opening == task_context.OPENING
    headings = {*HEADINGS.values()}
    lines = [line for line in lines if line not in headings]
    at = next((n for n, x in enumerate(lines) if x.startswith("- [files]")), len(lines))
    end = next((n for n, x in enumerate(lines) if n > at and x[:2] == "- "), len(lines))
    files = file_items(lines[at:end])
    items = [task_item(LineReader(line)) for line in (*lines[:at], *lines[end:])]
    return [*items[:at], *files, *items[at:]]


def file_items(lines: list[str]) -> list[Any]:
    """Read the files: a folder that they share, and a path and a purpose on each line."""
    if not lines:
        return []
    head = LineReader(lines[0])
    head.skip("- [files] where to start")
    folder = head.string() if head.has(", below ") else ""
    head.skip(":")
    head.end()
    return [file_item(folder, LineReader(line)) for line in lines[1:]]


def file_item(folder: str, reader: LineReader) -> str:
    reader.skip("  - ")
    path = reader.string()
    if reader.has(": "):
        reader.string()
    reader.end()
    return folder + path


def task_item(reader: LineReader) -> Any:
    reader.skip("- [")
    if reader.has("rule] "):
        return rule_of(reader)
    return task_memory_of(reader)


def task_memory_of(reader: LineReader) -> dict[str, Any]:
    """Read the line of a memory for a task: its strings, then the day and the id."""
    found: dict[str, Any] = {"kind": reader.match(r"[a-z]+"), "strings": []}
    reader.skip("] ")
    if found["kind"] == "fact":
        found["strings"].append(reader.string())
        reader.skip(" = ")
        found["value"] = reader.json()
        reader.has("; ")
    while not reader.has(" ("):
        reader.match(r"(?:done|asked|feedback|in)?:? ?")
        found["strings"].append(reader.string())
        reader.has("; ")
    reader.match(r"\d{4}-\d\d-\d\d, ")
    found["id"] = reader.match(r"[0-9a-f-]{36}")
    reader.skip(")")
    reader.end()
    return found


def rule_of(reader: LineReader) -> dict[str, Any]:
    found: dict[str, Any] = {"label": reader.match(r"[a-z0-9-]+")}
    reader.skip(" (")
    found["category"] = reader.name()
    reader.skip(") ")
    found["content"] = reader.string()
    reader.skip(" (helpful=")
    found["helpful"] = int(reader.match(r"\d+"))
    reader.skip(" harmful=")
    found["harmful"] = int(reader.match(r"\d+"))
    reader.skip(")")
    return found | mark_of(reader)


def mark_of(reader: LineReader) -> dict[str, Any]:
    """Read the mark of a doubtful entry at the end of a line."""
    path, is_contested = None, False
    if reader.has(" (unconfirmed since "):
        unnamed = "a file that it rests on"
        path = unnamed if reader.has(unnamed) else reader.string()
        reader.match(r"( and \d+ more)? changed")
        is_contested = reader.has("; contested")
        reader.skip(")")
    elif reader.has(" (contested)"):
        is_contested = True
    reader.end()
    return {"path": path, "is_contested": is_contested}


def expected_task(items: Any) -> list[Any]:
    rules, hits, files = items
    rules = sorted(rules, key=lambda rule: not entry_list.is_accepted(rule.entry))
    return [
        *map(expected_rule, rules),
        *map(expected_line, memory_lines.build([hit.memory for hit in hits], [])),
        *expected_files(files),
    ]


def expected_files(files: FileList) -> list[str]:
    """Return the paths as a reader joins them; long ones may leave no room for the last."""
    paths = [file.file_path for file in files.files]
    count = len(file_items(file_lines.write([(p, "") for p in paths]).splitlines()))
    folder = file_lines.shared_folder(paths[:count])
    shown = [safe_line(p[len(folder) :], file_lines.MAX_PATH) for p in paths[:count]]
    return [safe_line(folder, FIELD) + each for each in shown] if folder else shown


def expected_line(line: memory_lines.MemoryLine) -> dict[str, Any]:
    memory = line.memory
    is_fact = memory.kind == "fact"
    limited = [
        (line.happened, memory_lines.MAX_LESSON),
        (line.done, memory_lines.MAX_DONE),
        (line.feedback, memory_lines.MAX_FEEDBACK),
        (line.asked, memory_lines.MAX_GOAL),
    ]
    strings = [safe_line(memory.key, FIELD)] if is_fact else []
    strings += [safe_line(text, limit) for text, limit in limited if text]
    found: dict[str, Any] = {"kind": memory.kind, "strings": strings}
    if is_fact:
        found["value"] = json.loads(json_value(memory.value))
    return found | {"id": str(memory.pk)}


def expected_rule(rule: RelevantRule) -> dict[str, Any]:
    entry: Any = rule.entry
    paths = sorted({*entry.named_changed})
    named = [safe_line(path, PATH) for path in paths if path in entry.content]
    named += ["a file that it rests on"] if paths else []
    return {
        "label": entry.label,
        "category": safe_line(entry.category, FIELD),
        "content": safe_line(entry.content, task_context.MAX_RULE),
        "helpful": entry.helpful,
        "harmful": entry.harmful,
        "path": named[0] if named else None,
        "is_contested": entry.is_in_doubt,
    }


# A line that a budget has cut still ends its strings.
CUT_LINES = st.tuples(MEMORIES, st.integers(1, 400))


def cut_line(row: tuple[Memory, int]) -> str:
    memory, chars = row
    line = digest_lines.of_memory(memory)
    budget = Budget(items=1, chars=chars)
    chosen = selection.select([line], total=WIDE, kinds={memory.kind: budget})
    text = "".join(f"{each.text}\n" for each in chosen.lines)
    assert len(text) <= chars
    assert not text or text.startswith(line.text[: line.head])
    return text


def cut_memories(text: str) -> list[tuple[str, str]]:
    return [(head(line), tail(line)) for line in lines_of(text)]


def head(line: str) -> str:
    return line[: line.index("]") + 2 + 36]


def tail(line: str) -> str:
    """Read every string after the id. A string that does not end fails."""
    reader = LineReader(line)
    while reader.at < len(line):
        if line.startswith('"', reader.at):
            reader.string()
        else:
            reader.at += 1
    return line[-1]


def expected_cut(row: tuple[Memory, int]) -> list[tuple[str, str]]:
    memory, chars = row
    line: CandidateLine[Memory] = digest_lines.of_memory(memory)
    if len(line.text) < chars:
        return [(line.text[: line.head], ")")]
    if chars - 2 < line.head:
        return []
    return [(line.text[: line.head], cut_line(row)[-2])]


def quote_words(said: list[str]) -> str:
    return "".join(f"> person: {shorten(each, 260, set())}\n" for each in said)


def read_quotes(text: str) -> list[str]:
    return [line.removeprefix("> person: ") for line in lines_of(text)]


RENDERERS = (
    Renderer(
        "decisions",
        ("context.decisions.quotes",),
        st.lists(FILLED | LONG, max_size=3),
        quote_words,
        read_quotes,
        lambda said: [shorten(each, 260, set()) for each in said],
    ),
    Renderer(
        "digest",
        ("context.digest.digest_lines",),
        st.lists(MEMORIES, max_size=3),
        digest,
        digest_memories,
        lambda memories: [expected_memory(memory) for memory in memories],
    ),
    Renderer(
        "digest cut by its budget",
        ("context.digest.digest_lines", "context.selection"),
        CUT_LINES,
        cut_line,
        cut_memories,
        expected_cut,
    ),
    Renderer(
        "task context",
        (
            "context.memory_lines",
            "context.task_context",
            "context.files.file_lines",
            "playbook.entries.freshness",
        ),
        TASKS,
        task_text,
        task_items,
        expected_task,
    ),
)
