"""Find pull requests that were merged and branches that are gone, as calls show it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ace.task import shell
from ace.task.task import Task, ToolCall
from playbook.lessons.expiry import name_branch, name_pull_request

_NUMBER = re.compile(r"#?(\d{1,7})")
_IS_MERGED = re.compile(r"\"state\": ?\"MERGED\"|^state:\s{1,8}MERGED\b", re.MULTILINE)
_MERGED = re.compile(r"\bMerged? pull request #(\d{1,7})\b")
_DELETED = re.compile(
    r"^Deleted branch (\S{1,200}) \(was|^ - \[deleted\] {1,20}(?:\(none\) {1,9}-> )?(?:origin/)?(\S{1,200})$",
    re.MULTILINE,
)


def find(task: Task) -> set[str]:
    """Return names such as `pr 214` and `branch fix/login` of work that has ended."""
    return {name for call in task.calls for name in _read(call)}


def _read(call: ToolCall) -> Iterator[str]:
    if not call.command or call.has_failed:
        return
    numbers = _MERGED.findall(call.result)
    for simple in shell.parse(call.command):
        if simple.program != "gh" or simple.words[1:2] != ("pr",):
            continue
        verb, named = simple.words[2:3], map(_NUMBER.fullmatch, simple.words[3:])
        if verb in (("merge",), ("close",)) or _IS_MERGED.search(call.result):
            numbers += [match[1] for match in named if match]
    yield from map(name_pull_request, numbers)
    for found in _DELETED.finditer(call.result):
        yield name_branch(found[1] or found[2])
