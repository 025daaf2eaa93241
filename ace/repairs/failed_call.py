"""Tell whether a call failed, of which class the failure is, and how it is named."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import PurePosixPath

from ace.repairs import commands, error_line, lint_issues, masks
from ace.repairs.lint_issues import ReportedIssue
from ace.task import runner_reports, shell, tool_calls, word_tables
from ace.task.shell import SimpleCommand
from ace.task.task import ToolCall


class FailureKind(StrEnum):
    """The classes of calls that did not work. Fixes are known of the first four only."""

    LINT = "lint"
    SHELL = "shell"
    PATH = "path"
    TOOL = "tool"
    COMPILE = "compile"
    ETIQUETTE = "etiquette"
    REFUSED = "refused"


# The others are about the code at hand, about the harness, and about what a person did not
# allow. A fix from another task does not cure them.
CURABLE = frozenset(
    {FailureKind.LINT, FailureKind.SHELL, FailureKind.PATH, FailureKind.TOOL}
)
MAX_SIGNATURE = 500  # characters of the masked text of a signature
MAX_SIGNATURES = 20  # distinct issues of one report

PATH_ARGUMENTS = ("file_path", "path", "notebook_path", "filename", "file")
HARNESS_TEXT = 400  # characters in which the harness says what it refuses
# The fixed texts with which a harness refuses a call.
_ETIQUETTE = re.compile(
    r"has not been read yet|String to replace not found|matches of the string to replace"
    r"|No changes to make|(?:modified|changed) since (?:it was )?(?:last )?read"
    r"|exceeds maximum allowed|InputValidationError|Sibling tool call errored|EISDIR"
    r"|posix_spawn|did not appear verbatim|Multiple occurrences of old_str|No replacement was"
    r"|apply_patch verification failed|Failed to find (?:expected lines|context)"
)
_MISSING = re.compile(
    r"does not exist|no such file|not found|ENOENT|cannot find", re.IGNORECASE
)
_COMPILE = re.compile(
    r"^(?:[\w./@-]{1,300}\.\w{1,5}:\d{1,7}:\d{1,5}:? (?!warning|note|info)\S"
    r"|[\w./@-]{1,300}\.\w{1,5}:\d{1,7}: error\b|[\w./@-]{1,300}\(\d{1,7},\d{1,5}\): error"
    r"|error\[E\d{1,5}\]|error: could not compile|[^\n]{0,300}\[build failed\])",
    re.MULTILINE,
)
_TEST = re.compile(
    r"^(?:[ \t]{0,20}--- FAIL|FAIL(?:ED)?\b|[ \t]{0,20}not ok \d|E   \S|Failures:|AssertionError"
    r"|test result: FAILED|BUILD FAILED)",
    re.MULTILINE,
)
_SYNTAX = re.compile(r"^[ \t]{0,20}SyntaxError:", re.MULTILINE)
# Failures of the machine or of the project's environment, although a program states them.
_ENVIRONMENT = re.compile(
    r"ModuleNotFoundError|No module named|Cannot find (?:module|package)|command not found"
    r"|cannot load such file|no required module provides package|updates to go\.mod needed"
)
# A variable of the environment that is missing or wrong, whatever ran, also a test.
_VARIABLE = re.compile(
    r"KeyError: ['\"][A-Z][A-Z0-9]{0,40}_[A-Z0-9_]{1,40}['\"]|[Ee]nvironment variables? [`'\"]?[A-Z]"
    r"|\b[A-Z][A-Z0-9]{0,40}_[A-Z0-9_]{1,40}[`'\"]? (?:environment variable|(?:must be|is|was|has)"
    r" (?:not |n't )?(?:been )?(?:set|defined|required|missing|empty|unset)|not (?:set|found|defined))"
)
# What a merge leaves to a person is no failure of the command.
_CONFLICT = re.compile(
    r"^(?:CONFLICT \(|Automatic merge failed|error: could not apply|error: Pulling is not possible"
    r"|error: (?:merging|committing) is not possible because you have unmerged)",
    re.MULTILINE | re.IGNORECASE,
)
# Of these, other machines of the project know nothing.
_OF_MACHINE = re.compile(
    r"command not found|No module named|Cannot find module|cannot load such file"
)
_COMPLAINT = re.compile(
    r"^[^\n]{0,60}?(?:unknown (?:shorthand )?flag|unknown (?:command|option)|no such option"
    r"|flag provided but not defined|unrecognized (?:option|argument)|invalid option"
    r"|illegal option|command not found|unexpected argument)",
    re.MULTILINE | re.IGNORECASE,
)
_FAILED = re.compile(
    r"^(?:[^\n]{0,200}ERROR task failed|npm (?:ERR!|error)|make: \*\*\*"
    r"|error: script [^\n]{0,200} exited|[^\n]{0,200}ELIFECYCLE|(?:fatal|error|Error): "
    r"|(?:Process )?exit(?:ed)?(?: with)? (?:code|status):? [1-9]"
    r"|Traceback \(most recent call last\))",
    re.MULTILINE,
)
_HIDES_EXIT_CODE = re.compile(r"[|;\n]|&\s*$")
# How linters count what they found.
_COUNTED = re.compile(
    r"^Found [1-9]\d{0,6} errors?\b|✖ [1-9]\d{0,6} problems? \([1-9]|\b[1-9]\d{0,6} offenses? detected"
    r"|^[1-9]\d{0,6} issues?:$",
    re.MULTILINE,
)
_INLINE_SCRIPT = re.compile(r"\s-[ce]\s|<<")
_LINTER = re.compile(
    r"\b(?:\w{0,30}lint\w{0,30}|ruff|flake8|clippy|rubocop|shellcheck|checkstyle|biome)\b"
)
_CD = re.compile(r"\bcd:.{0,200}(?:no such file|not a directory|cannot find)", re.I)
# Any path that is missing has this name.
_BARE_MISSING = re.compile(
    r"(?:<\w{1,4}>|\bcd): no such (?:file or directory|folder)$|no such file or directory: <\w{1,4}>$",
    re.IGNORECASE,
)
# Of an exception with nothing but a name, the name is what tells it from another one.
_BARE_EXCEPTION = re.compile(r"(?P<type>[\w.]{1,80}(?:Error|Exception)): ?['\"](?P<name>[^'\"]{1,80})['\"]")  # fmt: skip
_VALUE = re.compile(r"invalid|not (?:a )?valid|unsupported|must be|choice|expected", re.IGNORECASE)  # fmt: skip
_INTERPRETERS = re.compile(r"(?:python|node|ruby|perl|php|bash|sh|deno|bun|tsx|ts-node)[\d.]*")  # fmt: skip
_RUNNERS = word_tables.read("task_runners")
_FILLERS = frozenset({"run", "exec", "r", "x", "--", "task"})
_LINE_NUMBER = re.compile(r"\bline <n>:?\s{0,3}|:<n>\b")
# `/`, `home` and the person: what the folders of one machine begin with.
_HOME = re.compile(r"(?:/(?:home|Users)/[^/]{1,100}|/root|[A-Za-z]:[\\/]Users[\\/][^\\/]{1,100})(?=[\\/]|$)")  # fmt: skip


@dataclass(frozen=True)
class FailureSignature:
    """A failure as another task knows it again: equal ones differ only in their values.

    `line` is the line that states the error, with its values. `issue` is what a linter
    found, and `command` what was run. `is_of_machine` says that the failure is a fact of one machine, and `is_telling`
    that the name says enough to know it again.
    """

    name: str
    line: str = field(compare=False)
    issue: ReportedIssue | None = field(default=None, compare=False)
    command: str = field(default="", compare=False)
    is_of_machine: bool = False
    is_telling: bool = True

    @property
    def source(self) -> str:
        """Return the line of code or the command that failed, if it is known."""
        return self.issue.source if self.issue else self.command

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.name.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class FailedCall:
    call: ToolCall
    kind: FailureKind
    signatures: tuple[FailureSignature, ...]


def read(call: ToolCall, banners: Collection[str] = ()) -> FailedCall | None:
    """Return how a call failed; None if it worked."""
    kind = classify(call)
    if kind is None:
        return None
    found: dict[str, FailureSignature] = {}
    if kind in CURABLE:
        for each in _sign(call, kind, banners):
            found.setdefault(each.name, each)
    return FailedCall(call, kind, (*found.values(),)[:MAX_SIGNATURES])


def classify(call: ToolCall) -> FailureKind | None:
    """Return the class of a failure; None if the call worked.

    What a command printed decides too where another program hides its exit code, as
    `| tail` does.
    """
    if tool_calls.is_refusal(call.result):
        return FailureKind.REFUSED
    text = error_line.edges(call.result)
    if not (call.has_failed or _says_failure(call, text)):
        return None
    if call.command and _CONFLICT.search(text):
        return None
    if _is_of_harness(call):
        return FailureKind.ETIQUETTE
    if call.command:
        return _classify_command(call.command, text)
    is_path = path_of(call) and _MISSING.search(text[:HARNESS_TEXT])
    return FailureKind.PATH if is_path else FailureKind.TOOL


def path_of(call: ToolCall) -> str:
    """Return the file that a call of a tool names, or an empty text."""
    if call.command:
        return ""
    named = (call.arguments.get(name) for name in PATH_ARGUMENTS)
    return next((value for value in named if isinstance(value, str) and value), "")


def machine_of(cwd: str) -> str:
    """Return the home folder that stands for the machine, or an empty text."""
    found = _HOME.match(cwd)
    return found[0] if found else ""


def _says_failure(call: ToolCall, text: str) -> bool:
    if not call.command:
        return False
    if call.has_status and not _HIDES_EXIT_CODE.search(call.command):
        return False
    if shell.only_reads(call.command):
        # What it reads may tell of failures; its own begins with the complaint.
        return bool(_COMPLAINT.match(text))
    return any(m.search(text) for m in (_COMPILE, _TEST, _COUNTED, _COMPLAINT, _FAILED))


def _is_of_harness(call: ToolCall) -> bool:
    if call.command and not call.result.startswith("<tool_use_error>"):
        return False
    return bool(_ETIQUETTE.search(call.result[:HARNESS_TEXT]))


def _classify_command(command: str, text: str) -> FailureKind:
    counts = runner_reports.count_tests(text)
    has_tests = bool(_TEST.search(text) or (counts and counts.failed))
    if lint_issues.read(text):
        return FailureKind.LINT
    if _VARIABLE.search(text) or (_ENVIRONMENT.search(text) and not has_tests):
        return FailureKind.SHELL
    has_syntax = bool(_SYNTAX.search(text))
    if has_syntax and _INLINE_SCRIPT.search(command):
        return FailureKind.SHELL
    if has_tests or has_syntax or _COMPILE.search(text):
        return FailureKind.COMPILE
    is_lint = _LINTER.search(command) and "task failed" in text
    return FailureKind.LINT if is_lint else FailureKind.SHELL


def _sign(
    call: ToolCall, kind: FailureKind, banners: Collection[str]
) -> Iterator[FailureSignature]:
    if kind is FailureKind.LINT:
        for issue in lint_issues.read(error_line.edges(call.result)):
            line = f"{issue.rule}: {issue.message}"
            yield _signature("lint", issue.name, line, issue)
        return
    if kind is FailureKind.PATH:
        path = path_of(call)
        last = "/".join(PurePosixPath(path).parts[-2:])
        yield _signature("path", f"{call.tool_name} {last}", path)
        return
    line = error_line.find(call.result, banners)
    if not line:
        return
    if kind is FailureKind.TOOL:
        found = _signature("tool", f"{call.tool_name}: {masks.mask_error(line)}", line)
    elif _CD.search(line):
        found = _signature("shell", f"cd: {_why_not_there(call)}", line)
    else:
        found = _signature("shell", _name_command(call.command, line), line)
    yield replace(
        found,
        command=call.command,
        is_of_machine=kind is FailureKind.SHELL and bool(_OF_MACHINE.search(line)),
        is_telling=error_line.is_error(line) and not _BARE_MISSING.search(found.name),
    )


def _name_command(command: str, line: str) -> str:
    """Return the program, its script or task, and the line that it printed.

    What the line repeats of the command is told apart from what it repeats of another one.
    """
    spoke = commands.speaker(command, line)
    if found := _BARE_EXCEPTION.fullmatch(line):
        return f"{_label(spoke)}: {found['type']}: {found['name']}"
    words = [] if spoke is None else [*spoke.words[1:]]
    program = [] if spoke is None else [spoke.program]
    keep = {part for word in [*program, *words] for part in _parts(word)}
    name = _LINE_NUMBER.sub("", masks.mask_error(line, keep))
    values = [
        word.partition("=")[2] or next(iter(words[at + 1 :]), "")
        for at, word in enumerate(words)
        if word.startswith("-") and commands.stands_in(word.partition("=")[0], line)
    ]
    is_of_value = bool(_VALUE.search(line)) and "argument '-" not in line
    return " ".join([f"{_label(spoke)}: {name}", *(values if is_of_value else [])])


def _label(simple: SimpleCommand | None) -> str:
    """Return the program; of an interpreter or a runner also what it runs."""
    if simple is None:
        return "shell"
    name = simple.program
    operands = [word for word in simple.operands if word not in _FILLERS]
    if _INTERPRETERS.fullmatch(name):
        scripts = [o for o in operands if "." in o or "/" in o]
        return " ".join([name, *scripts[:1]])
    is_task = name in _RUNNERS and _FILLERS & set(simple.words[1:2])
    return " ".join([name, *operands[:1]]) if is_task or name == "make" else name


def _parts(word: str) -> Iterator[str]:
    """Yield what an error may repeat of a word of a command; numbers are always masked."""
    name, _, value = word.partition("=")
    yield from (part for part in (name, value) if len(part) > 1)
    yield (value or name).rstrip("/").rpartition("/")[2]


def _signature(
    kind: str, masked: str, line: str, issue: ReportedIssue | None = None
) -> FailureSignature:
    return FailureSignature(f"{kind} {masked}"[:MAX_SIGNATURE], line, issue)


def _why_not_there(call: ToolCall) -> str:
    """Return why `cd` failed: the shell is in the folder already, or the folder is not there.

    The two have opposite cures.
    """
    targets = [*commands.cd_targets(call.command)]
    inside = [target for target in targets if call.cwd.endswith(f"/{target}")]
    why = "in the folder already" if inside else "no such folder"
    return " ".join([why, *(inside or targets)[:1]])
