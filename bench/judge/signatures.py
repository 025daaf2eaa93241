"""Name a failure, so that the same failure of a later session has the same name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from bench.judge.error_line import (
    BannerLines,
    find_error_line,
)
from bench.judge.failure_class import FailureClass
from bench.judge.lint_issues import read_issues
from bench.judge.session_calls import SessionCall
from bench.judge.shell_command import (
    ShellSegment,
    mask,
    speaking_segments,
    split_segments,
)

HOME_PARTS = 4  # `/`, `home`, the person, and the folder of the person's checkouts

_COMPILER_LINE = re.compile(
    r"^[\w./@-]+\.\w{1,5}(?::\d+){1,2}:?\s(?!warning|note)(?:error:? )?(?P<message>.+)$"
    r"|^[\w./@-]+\(\d+,\d+\): (?P<tsc>error .+)$|^(?P<rustc>error\[E\d+\].+)$",
    re.MULTILINE,
)
_TEST_NAME = re.compile(
    r"^[ \t]*--- FAIL: (\S+)|^FAILED (\S+)|^[ \t]*not ok \d+ (?:- )?(.+)$|^test (\S+) \.\.\. FAILED"
    r"|^[ \t]*(?:●|✕|✗) (.+)$",
    re.MULTILINE,
)
_MACHINE = re.compile(
    r"command not found|No module named|Cannot find module|cannot load such file"
)
_CD = re.compile(r"\bcd:.*(?:no such file|not a directory|cannot find)", re.IGNORECASE)
_LINE_NUMBER = re.compile(r"\bline N:?\s*|:N\b")


def sign(
    call: SessionCall, kind: FailureClass, banners: BannerLines
) -> tuple[str, ...]:
    """Return the signatures of a failure, each once; a linter may break several rules."""
    if kind is FailureClass.LINT:
        issues = read_issues(call.result)
        return tuple(dict.fromkeys(issue.signature for issue in issues))
    if kind is FailureClass.SHELL:
        found = _sign_shell(call, banners)
        return (found,) if found else ()
    if kind is FailureClass.PATH:
        return (f"path {call.tool} {_last_parts(call.path)}",)
    if kind is FailureClass.COMPILE:
        return _sign_compile(call)
    line = find_error_line(call.result, banners)
    return (f"{kind} {call.tool}: {mask(line)}",) if line else ()


def find_speaker(command: str, line: str) -> ShellSegment | None:
    """Return the segment whose program says the line: the one that it names, else the last."""
    segments = speaking_segments(command)
    named = (s for s in segments if re.search(rf"\b{re.escape(s.program)}\b", line))
    return next(named, segments[-1] if segments else None)


def find_machine(cwd: str) -> str:
    """Return the folder that stands for the machine: transcripts name none."""
    return str(PurePosixPath(*PurePosixPath(cwd).parts[:HOME_PARTS]))


def _sign_shell(call: SessionCall, banners: BannerLines) -> str:
    line = find_error_line(call.result, banners)
    if not line:
        return ""
    if _CD.search(line):
        return f"shell cd: {_describe_directory(call)}"
    speaker = find_speaker(call.command, line)
    name = speaker.program if speaker else "shell"
    machine = f" @{find_machine(call.cwd)}" if _MACHINE.search(line) else ""
    return f"shell {name}: {_LINE_NUMBER.sub('', mask(line))}{machine}"


def _describe_directory(call: SessionCall) -> str:
    """Return why `cd` failed: the shell is there already, or the directory is elsewhere.

    The two have opposite cures.
    """
    targets = [
        segment.words[1].strip("'\"/")
        for segment in split_segments(call.command)
        if segment.program == "cd" and len(segment.words) > 1
    ]
    is_inside = any(call.cwd.endswith(f"/{target}") for target in targets)
    return "already in the directory" if is_inside else "no such directory"


def _sign_compile(call: SessionCall) -> tuple[str, ...]:
    """Return the masked messages of the compiler, else the names of the failed tests."""
    messages = [_text_of(found) for found in _COMPILER_LINE.finditer(call.result)]
    if messages:
        return tuple(dict.fromkeys(f"compile {mask(text)}" for text in messages))
    names = [_text_of(found) for found in _TEST_NAME.finditer(call.result)]
    return tuple(dict.fromkeys(f"test {name}" for name in names)) or ("test",)


def _text_of(found: re.Match[str]) -> str:
    return next(filter(None, found.groups()), "").strip()


def _last_parts(path: str, count: int = 2) -> str:
    return "/".join(_parts(path)[-count:])


def _parts(path: str) -> Sequence[str]:
    return PurePosixPath(path).parts
