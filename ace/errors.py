"""Recognise the errors in what a program prints.

One line states one error. Which lines do is told by the forms in which machines write:
exceptions, compilers, linters, test runners, and the complaints of programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# In characters. A long output names its errors at its beginning or at its end.
HEAD, TAIL = 20_000, 60_000
MAX_ERRORS = 40  # different ones of one text
MAX_LINE = 600  # characters of a line that count
MAX_SHOWN_LINES, MAX_SHOWN = 6, 200  # lines of a text, and characters of a line
MAX_MASKED = 300  # characters of a message; more add only values that would be masked


@dataclass(frozen=True)
class FoundError:
    """An error: `text[start:end]` is the line that states it.

    `type` is the class of the exception, the code of a compiler or linter, or the kind of
    the complaint, such as `not_found`.
    """

    type: str
    message: str
    start: int
    end: int

    @property
    def is_complaint(self) -> bool:
        """Whether it has no form of a machine, but words that a person may write too."""
        return self.type in _KINDS.groupindex or bool(_HTTP.fullmatch(self.type))

    @property
    def key(self) -> str:
        """What equal errors of other runs share, whatever they name."""
        return f"{self.type}|{mask(_QUOTED.sub(_MARK, self.message)).lower()}"


_ANSI = re.compile(r"\x1b\[[0-9;]{0,12}m")
_TYPE = (
    r"(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Failure|Exit"
    r"|NotFound|Timeout|Expired|DoesNotExist|Denied)|StopIteration"
    r"|(?:[a-z_]\w{0,60}\.){1,6}[A-Z][a-z]\w{1,60}(?=: )"
)
_EXCEPTION = re.compile(_TYPE)
# Lines that only lead to an error or away from it: frames, rules, warnings, usage, exit codes,
# and what a runner of tasks adds to the program that it ran.
_BESIDE = re.compile(
    r"(?:error: )?(?:exit(?:ed with)?|process exited with) (?:code|status):? ?-?\d+\W*$"
    r"|traceback \(most recent|\s{0,40}file \".{0,250}\", line \d|\s{0,40}at .{1,250}:\d"
    r"|(?!--- FAIL)[=~-]{3}|\s{0,80}[\^~]{1,80}$|during handling of|the above exception"
    r"|\S{0,200}warning:|warning\b|usage:|hint:|try ['\"`]|.{0,250}error task failed"
    r"|npm (?:err!|error) (?:code|path|command|a complete|lifecycle|errno)"
    r"|make(?:\[\d{1,3}\])?: \*\*\*|.{0,250}elifecycle|error: script .{0,200} exited"
    r"|error: recipe .{0,200} failed|error: process completed|command failed with exit"
    r"|(?:info|debug)\b|\d{1,7} (?:passed|errors? generated)",
    re.IGNORECASE,
)
# The forms of single errors, the most telling first. `type` names the error, `message` says it.
_FORMS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:E {{1,8}})?(?P<type>{_TYPE})(?:: {{0,4}}(?P<message>.+))?$",
        r"(?:Exception in thread \".{1,80}\" |Caused by: |Uncaught |Unhandled )"
        rf"(?P<type>{_TYPE})(?:: {{0,4}}(?P<message>.+))?",
        r"thread '.{1,80}' (?P<type>panicked) at (?P<message>.+)",
        r"(?P<type>panic): (?P<message>.+)",
        r"error\[(?P<type>[A-Z]\d{1,5})\]: (?P<message>.+)",
        r"[^\s:()][^:()]{0,200}[:(]\d{1,7}[,:]\d{1,5}\)?(?: -|:) (?:fatal )?error:?"
        r" (?:(?P<type>[A-Z]{1,4}\d{2,5}): )?(?P<message>.+)",
        r"[^\s:][^:]{0,200}:\d{1,7}: (?:fatal )?error: (?P<message>[^\[]+)(?:\[(?P<type>[\w-]{2,40})\])?",
        r"(?:- |[^\s:][^:]{0,200}:\d{1,7}(?::\d{1,5})?:? )?(?P<type>[A-Z]{1,4}\d{3,4})[: ] ?(?P<message>.+)",
        r"\s{0,8}\d{1,6}:\d{1,5}\s{1,8}error\s{1,8}(?P<message>.{1,300}?)\s{2,8}(?P<type>[@\w/-]{3,60})$",
        r"[^\s:()][^:()]{0,200}\.\w{1,8}:\d{1,7}(?::\d{1,5})?: (?:(?:error|warning|note|info|style): )?"
        r"(?P<message>.{4,300}?) ?[(\[](?P<type>[A-Za-z][\w./@-]{2,40})[)\]]$",
        r"FAILED (?P<message>\S.*)",
        r"\s{0,16}--- FAIL: (?P<message>\S+)",
        r"test (?P<message>[\w:]{1,200}) \.\.\. FAILED",
        r"(?:FAIL|ERROR): (?P<message>\w{1,120}) \(",
        r"\s{0,12}(?:\u2715|\u00d7|\u25cf) (?P<message>.+)",
    )
)
_TESTS = 5  # of the forms, the last ones, which name a test
_POSITION = re.compile(
    r"(?P<place>[^\s:][^:]{0,200}:\d{1,7}(?::\d{1,5})?:?) (?P<message>\S.*)"
)
# What programs complain of, by kinds; the first kind that a line has is its type.
_KINDS = re.compile(
    "|".join(
        f"(?P<{kind}>{pattern})"
        for kind, pattern in (
            ("rate_limit", r"\brate[ -]?limit|too many requests|quota exceeded|throttl(?:ed|ing)"),
            ("auth", r"\bunauthori[sz]ed|(?:not |un)authenticated|authentication (?:failed|required)"
             r"|(?:invalid|bad|expired) (?:api[ -]?key|token|credentials?|password)"
             r"|(?:token|session|credentials?) (?:has |have )?expired|login (?:failed|required)"),
            ("permission", r"\bpermission denied|EACCES|EPERM|\bforbidden\b|access (?:is )?denied"
             r"|operation not permitted|not (?:allowed|permitted) to|read-only file system"
             r"|insufficient (?:permissions?|privileges?|scopes?)"),
            ("timeout", r"\btimed?[ -]?out\b|deadline exceeded|time limit exceeded|ETIMEDOUT"),
            ("dependency", r"\bno module named|cannot find (?:module|package)|unresolved import"
             r"|no required module|no matching distribution|could not find a version"
             r"|unable to resolve dependency|version conflict|incompatible version"),
            ("environment", r"\bcommand not found|is not recognized as an internal|is not installed"
             r"|ECONNREFUSED|connection refused|no space left"
             r"|\b(?:is|not|be) (?:not )?set\b|is unset|unbound variable|is not running"),
            ("argument", r"\b(?:unexpected|unknown|unrecogni[sz]ed|invalid|illegal|unsupported|ambiguous)"
             r" (?:shorthand |keyword |named )?(?:argument|parameter|option|flag|field|key|propert(?:y|ies)"
             r"|command|subcommand|task|target|script)|flag provided but not defined|no such option"
             r"|missing (?:\d{1,2} )?(?:required )?(?:positional |keyword-only )?(?:argument|parameter|field|key|script)"
             r"|\bis (?:a )?required\b|field required|no rule to make target"),
            ("not_found", r"\bno such |ENOENT|does ?n[o']t exist|do not exist|not found|cannot find"
             r"|could not find|did not (?:match|appear)|unknown (?:revision|column|table|database|host)"),
            ("concurrency", r"\bdeadlock|database is locked|could not serialize|race condition"
             r"|lock wait timeout|resource temporarily unavailable|already locked"),
            ("encoding", r"codec can't (?:de|en)code|invalid (?:start|continuation) byte|not valid utf-?8"),
            ("format", r"\bsyntax ?error|parse error|failed to parse|invalid (?:json|yaml|format|syntax|date)"
             r"|malformed|unterminated|unexpected (?:token|end|indent|character|eof)"),
            ("http", r"\bHTTP(?:/\d(?:\.\d)?)?[ :]{1,3}(?:error |status )?(?:code )?[45]\d\d\b"
             r"|\bstatus(?:[_ ]?code)?[\"']?[ :=]{1,4}[45]\d\d\b"
             r"|\b[45]\d\d (?:Client Error|Server Error|Bad Request|Method Not Allowed|Conflict|Gone"
             r"|Unprocessable|Internal Server Error|Bad Gateway|Service Unavailable)"),
            ("expectation", r"\bexpected:? .{1,200}\b(?:got|received|actual|but was)\b"
             r"|does not (?:match|equal)|mismatch|assertion failed"),
            ("error", r"^(?:\W{0,3}[\w./-]{1,40}: ){0,2}(?:fatal|error|failed|failure|panic)\b"
             r"|\b(?:fatal|error|failed): |^(?:cannot|could not|unable to|failed to)\b"),
        )
    ),
    re.IGNORECASE,
)  # fmt: skip
_HTTP = re.compile(r"[45]\d\d\b")
# The message inside an error object or an error tag.
_WRAPPED = re.compile(
    r"\"(?:error|message|detail|error_message|msg)\"[ ]?:[ ]?\"(?P<inner>[^\"\\]{3,300})\""
    r"|<(?:tool_use_)?error>(?P<text>[^<>]{3,300})"
)
_QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"")
_MARK = "'\u2026'"


def find(text: str) -> list[FoundError]:
    """Return the errors of a text in their order, each once."""
    different: dict[str, FoundError] = {}
    for start, line in _lines(text):
        if error := _read(line, start):
            different.setdefault(error.key, error)
        if len(different) == MAX_ERRORS:
            break
    return list(different.values())


def find_lines(text: str) -> list[str]:
    """Return at most MAX_SHOWN_LINES lines that tell the errors, each message once."""
    return [
        _shorten(text[each.start : each.end]) for each in find(text)[:MAX_SHOWN_LINES]
    ]


def choose_lines(text: str) -> list[str]:
    """Like `find_lines`; without a known error, return the first line that has words."""
    first = state(text)
    return find_lines(text) or (
        [_shorten(text[first.start : first.end])] if first else []
    )


def state(text: str) -> FoundError | None:
    """Return the error that a failed call states: the last exception, or else the first.

    Without a known error it is the first line with words that is more than an exit code.
    """
    found = find(text)
    raised = [each for each in found if _EXCEPTION.fullmatch(each.type)]
    if found:
        return raised[-1] if raised else found[0]
    lines = list(_lines(text))
    telling = [(start, line) for start, line in lines if not _BESIDE.match(line)]
    for start, line in (telling or lines)[:1]:
        return FoundError("error", line.strip(), start, start + len(line))
    return None


def cut_place(line: str) -> str:
    """Return what a compiler or a linter says, without the place where it says it."""
    found = _POSITION.fullmatch(line)
    return found["message"] if found else line


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start of each line with words, and the line, of both ends of the text."""
    start, tail = 0, len(text) - TAIL
    for whole in text.splitlines(keepends=True):
        line = whole.rstrip()[:MAX_LINE]
        begin = start + len(line) - len(line.lstrip())
        if line.strip() and (start < HEAD or start >= tail):
            yield begin, line.lstrip()
        start += len(whole)


def _read(line: str, start: int) -> FoundError | None:
    plain = _ANSI.sub("", line).strip()
    if not plain or _BESIDE.match(plain):
        return None
    end = start + len(line)
    for form in _FORMS:
        if found := form.match(plain):
            groups = found.groupdict()
            kind = groups.get("type") or _default_type(form)
            return FoundError(kind, (groups["message"] or plain).strip(), start, end)
    wrapped = _WRAPPED.search(plain)
    message = (wrapped["inner"] or wrapped["text"]) if wrapped else plain
    if kind := _kind_of(plain):
        return FoundError(kind, message.strip(), start, end)
    if _POSITION.fullmatch(plain):
        return FoundError("finding", cut_place(plain), start, end)
    return FoundError("error", message, start, end) if wrapped else None


def _default_type(form: re.Pattern[str]) -> str:
    return "test_failure" if form in _FORMS[-_TESTS:] else "compiler"


def _kind_of(line: str) -> str:
    found = _KINDS.search(line)
    if found is None:
        return ""
    kind = found.lastgroup or "error"
    code = _HTTP.search(line) if kind == "http" else None
    return code[0] if code else kind


def _shorten(line: str) -> str:
    """Cut out the middle of a long line: a linter names its rule at the end."""
    line = line.strip()
    if len(line) <= MAX_SHOWN:
        return line
    return f"{line[: MAX_SHOWN * 2 // 3]} \u2026 {line[-MAX_SHOWN // 3 :]}"


_FOLDER = re.compile(
    r"(?<![\w./~-])(?:~|[A-Za-z]:)?(?:[/\\][^\s/\\:\"']{1,100}){1,30}[/\\]"
)
_NUMBERS = tuple(
    (re.compile(pattern), mask)
    for pattern, mask in (
        (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<id>"),
        (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?(?:Z|[+-]\d\d:?\d\d)?(?!\d)",
         "<time>"),
        (r"\b\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\b", "<time>"),
        (r"\b\d{1,12}(?:\.\d{1,9})?[ ]?(?:ms|\u00b5s|us|ns|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?"
         r"|days?|milliseconds?)\b", "<duration>"),
        (r"\b0x[0-9a-fA-F]{1,64}\b", "<hex>"),
        (r"\b(?=[0-9a-f]{0,63}\d)(?=\d{0,63}[a-f])[0-9a-f]{7,64}\b", "<hex>"),
        (r"\d{1,40}(?:[.,]\d{1,40}){0,5}", "<n>"),
        (r"\s{1,300}", " "),
    )
)  # fmt: skip


def mask(message: str) -> str:
    """Mask ids, times, durations, folders and numbers: "after 31s" equals "after 29s"."""
    return mask_numbers(_FOLDER.sub("<dir>/", message[:MAX_MASKED]))


def mask_numbers(text: str) -> str:
    """Mask ids, times, durations and numbers of the whole text, which must be short."""
    for pattern, mark in _NUMBERS:
        text = pattern.sub(mark, text)
    return text.strip()
