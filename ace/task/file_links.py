"""Find the files that a task touched. Each path has one link, with the strongest relation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ace.task import command_files, file_paths, patches, shell, tool_calls, word_tables
from ace.task.file_paths import PathLink, Relation
from ace.task.task import Task, ToolCall

MAX_LINKS = 1_000
# In characters. A report that names paths is shorter; longer output is content.
MAX_TEXT = 200_000

_PATH_KEYS = word_tables.read("path_arguments")
_OLD_KEYS = frozenset({"old_path", "source", "src", "from", "source_path"})
_PATCH_KEYS = ("patch", "diff", "input", "patch_text", "patchText")
_LINE_KEYS = (
    ("start_line", "end_line"),
    ("line_start", "line_end"),
    ("start_line_one_indexed", "end_line_one_indexed_inclusive"),
)
_SWE_EDITORS = frozenset({"edit", "insert", "goto", "scroll_down", "scroll_up"})

_FRAME = re.compile(
    r"File \"(?P<path>[^\"\n]{1,400})\", line (?P<line>\d{1,7})"
    r"|\((?P<js>(?:/|\./|[A-Za-z]:)?[\w@./\\-]{1,300}\.\w{1,5}):(?P<at>\d{1,7}):\d{1,7}\)"
)
_OPEN_FILE = re.compile(r"\[File: (?P<path>[^\n\]]{1,400}?) \(\d{1,9} lines total\)\]")
_LOCATION = re.compile(
    r"^[ \t]{0,12}(?:--> )?(?P<path>[^\s:()\[\]][^\s:()]{0,300})"
    r"(?::(?P<line>\d{1,7})(?=[:\s]|$)|\((?P<column>\d{1,7}),\d{1,5}\):)",
    re.MULTILINE,
)
_WHOLE_LINE = re.compile(
    r"^[ \t]{0,8}(?:[-*MADRU?]{1,2}[ \t]{1,3})?(?P<path>[^\s:]{2,300})[ \t\r]{0,4}$",
    re.MULTILINE,
)
_MENTION = re.compile(
    r"(?<![\w./:@~-])(?P<path>(?:~|\.{1,2})?/?(?:[\w@.-]{1,80}/){1,12}[\w.-]{1,80}\.\w{1,8})"
    r"(?::(?P<line>\d{1,7}))?"
)
_SAYS_UPDATED = re.compile(r"\b(?:updated|overwr\w{1,7}|replaced|modified)\b", re.I)
_SAYS_CREATED = re.compile(r"\b(?:created|new file)\b", re.I)

_RELATIONS: dict[tool_calls.Kind, Relation] = {
    "read": "read",
    "create": "created",
    "modify": "modified",
    "delete": "deleted",
}


def find(task: Task) -> list[PathLink]:
    """Return at most MAX_LINKS links, in the order in which the files first appear."""
    seen: dict[str, PathLink] = {}
    open_file = ""
    for call in task.calls:
        for link in [*_links_of_call(call, seen, open_file), *_links_of_result(call)]:
            _keep(seen, link)
        open_file = _shown_file(call) or open_file
    for link in _links_of_words(task):
        _keep(seen, link)
    return list(_merge_names(seen).values())[:MAX_LINKS]


def _keep(seen: dict[str, PathLink], link: PathLink) -> None:
    known = seen.get(link.path)
    if known is None:
        seen[link.path] = link
    elif file_paths.STRENGTH[link.relation] > file_paths.STRENGTH[known.relation]:
        lines = (link.line_start, link.line_end)
        if link.line_start is None:
            lines = (known.line_start, known.line_end)
        seen[link.path] = PathLink(link.path, link.relation, *lines)
    elif known.line_start is None and link.relation == known.relation:
        seen[link.path] = replace(
            known, line_start=link.line_start, line_end=link.line_end
        )


def _links_of_call(
    call: ToolCall, seen: Mapping[str, PathLink], open_file: str
) -> list[PathLink]:
    patch = _patch(call)
    if patch:
        found = patch
    elif call.command or _is_terminal_step(call):
        found = _links_of_command(call, seen, open_file)
    else:
        found = list(_links_of_arguments(call, seen, open_file))
    return [_weaken(call, link) for link in found] if call.has_failed else found


def _patch(call: ToolCall) -> list[PathLink]:
    for key in _PATCH_KEYS:
        value = call.arguments.get(key)
        if isinstance(value, str):
            found = patches.parse_apply_patch(value) or patches.parse_diff(value)
            if found:
                return found
    return []


def _is_terminal_step(call: ToolCall) -> bool:
    """Return whether the call is a step of a recorded terminal, which has only a command."""
    return set(call.arguments) <= {"command", "action", "input"} and isinstance(
        call.arguments.get("command") or call.arguments.get("input"), str
    )


def _links_of_command(
    call: ToolCall, seen: Mapping[str, PathLink], open_file: str
) -> list[PathLink]:
    text = tool_calls.command_of(call.arguments)
    words = text.split(None, 1)
    verb = words[0] if words else call.tool_name
    if verb in _SWE_EDITORS and open_file:
        changed: Relation = "modified" if verb in {"edit", "insert"} else "read"
        return [PathLink(open_file, changed), *command_files.find_links(text)]
    if call.tool_name in _SWE_EDITORS | {"open", "create"}:
        text = f"{call.tool_name} {text}"
    return [_relate_to_known(link, seen) for link in command_files.find_links(text)]


def _relate_to_known(link: PathLink, seen: Mapping[str, PathLink]) -> PathLink:
    """Change `created` to `modified` if the task has used the file before."""
    known = seen.get(link.path)
    if link.relation != "created" or known is None or known.relation == "created":
        return link
    if known.relation == "referenced":
        return link
    return replace(link, relation="modified")


def _weaken(call: ToolCall, link: PathLink) -> PathLink:
    """Turn a link of a failed call into a mention, because the call changed nothing.

    In a chain of commands, a change stays a change unless the output names its file: then
    this command of the chain is the one that failed.
    """
    if link.relation in ("read", "referenced"):
        return replace(link, relation="referenced")
    chained = len(shell.parse(call.command)) > 1
    if chained and link.path not in call.result:
        return link
    return replace(link, relation="referenced")


def _links_of_arguments(
    call: ToolCall, seen: Mapping[str, PathLink], open_file: str
) -> Iterator[PathLink]:
    kind = call.kind
    lines = _lines(call.arguments)
    if call.tool_name in _SWE_EDITORS and open_file:
        yield PathLink(open_file, _RELATIONS.get(kind, "read"))
    for key, text in _path_texts(call.arguments):
        exact = kind in _RELATIONS or kind == "move"
        name, line = file_paths.with_line(text)
        path = file_paths.normalise(name, explicit=exact)
        if path:
            start, end = lines if lines[0] is not None else (line, line)
            link = PathLink(path, _relation(kind, key, call), start, end)
            yield (
                _relate_to_known(link, seen)
                if not _SAYS_CREATED.search(call.result[:300])
                else link
            )


def _relation(kind: tool_calls.Kind, key: str, call: ToolCall) -> Relation:
    if kind == "move":
        return "deleted" if key in _OLD_KEYS else "created"
    if kind == "create" and _SAYS_UPDATED.search(call.result[:300]):
        return "modified"
    return _RELATIONS.get(kind, "referenced")


def _path_texts(arguments: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield each key for paths with its text, at any depth of the arguments."""
    if isinstance(arguments, dict):
        for name, value in arguments.items():
            yield from _path_texts(value, str(name).lower().replace("-", "_"))
    elif isinstance(arguments, list):
        for value in arguments[:MAX_LINKS]:
            yield from _path_texts(value, key)
    elif isinstance(arguments, str) and key in _PATH_KEYS:
        yield key, arguments


def _lines(arguments: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the lines that a call names; the last one only if it is not before the first."""
    first, last = _named_lines(arguments)
    if first is not None and last is not None and last < first:
        return first, None
    return first, last


def _named_lines(arguments: Mapping[str, Any]) -> tuple[int | None, int | None]:
    view = arguments.get("view_range")
    if isinstance(view, list) and len(view) == 2:
        return _number(view[0]), _number(view[1])
    for first, last in _LINE_KEYS:
        if _number(arguments.get(first)) is not None:
            return _number(arguments[first]), _number(arguments.get(last))
    start, limit = _number(arguments.get("offset")), _number(arguments.get("limit"))
    if start is not None and limit is not None:
        return start, start + limit - 1
    return start, None


def _number(value: Any) -> int | None:
    good = isinstance(value, int) and not isinstance(value, bool)
    return value if good and 0 < value < 10_000_000 else None


def _shown_file(call: ToolCall) -> str:
    """Return the file that a terminal editor shows after the call, from SWE-agent's header."""
    headers = _OPEN_FILE.findall(call.result[:MAX_TEXT])
    return (file_paths.normalise(headers[-1], explicit=True) or "") if headers else ""


def _links_of_result(call: ToolCall) -> list[PathLink]:
    text = call.result[:MAX_TEXT]
    kind = call.kind
    found = [*_match_links(_OPEN_FILE, text), *_match_links(_FRAME, text)]
    if kind in ("run", "search") or call.has_failed or _is_search(call):
        found += [*_match_links(_LOCATION, text), *_match_links(_WHOLE_LINE, text)]
    return [*found, *_diff_links(call, text)]


def _diff_links(call: ToolCall, text: str) -> list[PathLink]:
    """Return the links of a diff of the work tree, which shows the changes of this task."""
    words = call.command.split(None, 2)[:2]
    if words == ["git", "diff"] or "submit" in (*words[:1], call.tool_name):
        return patches.parse_diff(text)
    return []


def _is_search(call: ToolCall) -> bool:
    """Return whether the call is a shell search, whose output lines are paths."""
    words = call.command.split(None, 2)[:2]
    searching = {"grep", "rg", "find", "fd", "ag", "find_file", "search_dir"}
    return bool(searching.intersection(words[:1])) or words == ["git", "status"]


def _match_links(pattern: re.Pattern[str], text: str) -> Iterator[PathLink]:
    for match in pattern.finditer(text):
        groups = match.groupdict()
        text_of_path = groups["path"] or groups.get("js") or ""
        line = groups.get("line") or groups.get("at") or groups.get("column")
        # A bare name in a listing does not show that the task used the file. Most lines are
        # such names; a backslash may become a slash.
        if not (line or "/" in text_of_path or "\\" in text_of_path):
            continue
        path = file_paths.normalise(text_of_path)
        if path and ("/" in path or line):
            yield PathLink(path, "referenced", *(_number(int(line or 0)),) * 2)


def _links_of_words(task: Task) -> Iterable[PathLink]:
    """Return the files of a diff in the result, and the files that feedback or result mention.

    A mention counts only if it names the folder or the line of the file.
    """
    changed = patches.parse_diff(task.result[:MAX_TEXT])
    yield from changed
    for text in (task.feedback, "" if changed else task.result):
        yield from _match_links(_MENTION, text[:MAX_TEXT])


def _merge_names(seen: dict[str, PathLink]) -> dict[str, PathLink]:
    """Merge `/checkout/src/a.py` into `src/a.py` when the task used both names.

    If the short name has a folder, the pair also shows the root of the checkout. That root
    is then cut from the files that have only an absolute path.
    """
    short = {path for path in seen if not path.startswith(("/", "~"))}
    names = {path: _shorter(path, short) for path in seen}
    # The shortest root first: cut by a longer one, two files could get one name.
    roots = sorted(
        {
            path.removesuffix(name)
            for path, name in names.items()
            if path != name and "/" in name
        },
        key=lambda root: (len(root), root),
    )
    merged: dict[str, PathLink] = {}
    for path, link in seen.items():
        name = names[path]
        root = next((root for root in roots if path.startswith(root)), "")
        _keep(merged, replace(link, path=name if name != path else path[len(root) :]))
    return merged


def _shorter(path: str, short: set[str]) -> str:
    if not path.startswith("/"):
        return path
    parts = path.split("/")[1:]
    tails = ("/".join(parts[cut:]) for cut in range(1, len(parts)))
    return next((tail for tail in tails if tail in short), path)
