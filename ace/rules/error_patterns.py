"""Patterns that find errors in text. Patterns that are preferred come first."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Every quantifier is bounded and every start is anchored. So one pass is enough for any text.
_NAME = r"(?:[A-Za-z_]\w{0,60}\.){0,6}"
_TYPE = (
    rf"{_NAME}[A-Z]\w{{0,60}}(?:Error|Exception|Interrupt|Failure|Exit|NotFound"
    r"|Timeout|Expired|DoesNotExist|Denied)"
)
_LINE_START = r"^(?:E[ \t]{1,8}|[ \t]{0,8}- |[ \t]{0,8})"
_REST = r"[^\n]{1,300}"


@dataclass(frozen=True)
class ErrorPattern:
    """A pattern that finds one kind of error.

    The groups `code`, `type` and `message` are optional. If there is no group `message`,
    the line around the match is the message. If `hint` is not empty, the pattern is tried
    only on a text that contains one of the words in `hint`, which are in lower case.
    """

    kind: str
    pattern: re.Pattern[str]
    hint: tuple[str, ...] = ()


def _pattern(
    kind: str, pattern: str, *hint: str, flags: int = re.IGNORECASE
) -> ErrorPattern:
    return ErrorPattern(kind, re.compile(pattern, flags | re.MULTILINE), hint)


TRACEBACK = "traceback (most recent call last)"
FRAME = re.compile(
    r"^[ \t]{1,12}File \"(?P<path>[^\"\n]{1,400})\", line (?P<line>\d{1,7})"
    r"(?:, in (?P<function>[^\n]{1,120}))?",
    re.MULTILINE,
)
# A frame of installed code does not show where in the project the error occurred.
FOREIGN_FRAME = re.compile(
    r"site-packages|dist-packages|/lib/python|\\lib\\|<frozen|<string>|node_modules"
)
EXCEPTION = re.compile(
    rf"^(?:E[ \t]{{1,8}})?(?P<type>{_TYPE}|KeyError|StopIteration"
    r"|(?:[a-z_]\w{0,60}\.){1,6}[A-Z][a-z]\w{1,60}(?=: ))"
    rf"(?::[ \t]{{0,4}}(?P<message>{_REST}))?[ \t\r]{{0,8}}$",
    re.MULTILINE,
)

ERROR_PATTERNS: tuple[ErrorPattern, ...] = (
    ErrorPattern("exception", EXCEPTION),
    _pattern(
        "exception",
        rf"^(?:Exception in thread \"[^\"\n]{{1,80}}\" |Caused by: |Uncaught |Unhandled )"
        rf"(?P<type>{_TYPE})(?::[ \t]{{0,4}}(?P<message>{_REST}))?",
        flags=0,
    ),
    _pattern(
        "exception",
        rf"^thread '[^'\n]{{1,80}}' panicked at (?P<message>{_REST})",
        "panicked",
    ),
    _pattern("exception", rf"^panic: (?P<message>{_REST})", "panic: "),
    _pattern(
        "compiler",
        rf"^(?P<type>error)\[(?P<code>[A-Z]\d{{1,5}})\]: (?P<message>{_REST})",
        "error[",
    ),
    _pattern(
        "compiler",
        r"^[^\s:()][^\n:()]{0,200}[:(]\d{1,7}[,:]\d{1,5}\)?(?: -|:) (?:fatal )?"
        rf"error:? (?:(?P<code>[A-Z]{{1,4}}\d{{2,5}}): )?(?P<message>{_REST})",
        "error",
    ),
    _pattern(
        "compiler",
        r"^[^\s:][^\n:]{0,200}:\d{1,7}: error: (?P<message>[^\n\[]{1,300})"
        r"(?:\[(?P<code>[\w-]{2,40})\])?",
        "error:",
    ),
    _pattern(
        "lint",
        rf"{_LINE_START}(?:[^\s:][^\n:]{{0,200}}:\d{{1,7}}(?::\d{{1,5}})?:? )?"
        rf"(?P<code>(?:E|W|F|C|N|B|S|D|I|UP|SIM|RUF|PLR|PLC|PLE|PLW|PTH|SC|ANN|ARG)\d{{3,4}})"
        rf"[: ] ?(?P<message>{_REST})",
        flags=0,
    ),
    _pattern(
        "lint",
        r"^[ \t]{1,8}\d{1,6}:\d{1,5}[ \t]{1,8}error[ \t]{1,8}(?P<message>[^\n]{1,200})"
        r"[ \t]{2,8}(?P<code>[@\w/-]{3,60})$",
        "error",
    ),
    # "file.go:12:3: message (rule)", "file.sh:3:1: warning: message [SC2086]"
    _pattern(
        "lint",
        r"^[^\s:()][^\n:()]{0,200}\.\w{1,8}:\d{1,7}(?::\d{1,5})?: "
        r"(?:(?:error|warning|note|info|style|[CWREF]\d{0,4}): )?"
        r"(?P<message>[^\n]{4,300}?) ?[(\[](?P<code>[A-Za-z][\w./@-]{2,40})[)\]]$",
        flags=0,
    ),
    _pattern("test_failure", rf"^FAILED (?P<code>\S{{1,300}})(?: - (?P<message>{_REST}))?",
          "failed", flags=0),
    _pattern("test_failure", r"^[ \t]{0,16}--- FAIL: (?P<code>\S{1,200})", "--- fail"),
    _pattern("test_failure", r"^test (?P<code>[\w:]{1,200}) \.\.\. FAILED", "... failed"),
    _pattern("test_failure", r"^(?:FAIL|ERROR): (?P<code>\w{1,120}) \(", "fail: ", "error: ",
          flags=0),
    _pattern("test_failure", r"^[ \t]{0,12}(?:\u2715|\u00d7|\u25cf) (?P<code>[^\n]{1,200})", "\u2715", "\u00d7", "\u25cf"),
    _pattern("expectation", r"\b(?P<message>expected:?[ ]{1,3}[^\n]{1,120}(?:\n[ \t]{0,8})?"
          r"\b(?:got|received|actual|but was)\b:?[^\n]{1,120})", "expected"),
    _pattern("argument", r"\bmissing \d{1,2} required (?:positional|keyword-only) argument"
          r"|\b(?:unexpected|unknown|unrecognized|invalid|unsupported) (?:keyword |named )?"
          r"(?:argument|parameter|option|flag|propert(?:y|ies)|field|key)s?\b"
          r"|\b(?:missing|required) (?:required )?(?:argument|parameter|field|key"
          r"|propert(?:y|ies))s?\b|\bis a required (?:property|parameter|field)"
          r"|\bis required\b|\bfield required\b|\bno such option|\binput ?validation ?error",
          "argument", "parameter", "option", "flag", "propert", "field", "key",
          "required", "validation"),
    _pattern("rate_limit", r"\b(?:rate[ -]?limit|too many requests|quota exceeded"
          r"|throttl(?:ed|ing))", "rate", "too many", "quota", "throttl"),
    _pattern("auth", r"\b(?:invalid (?:api[ -]?key|token|credentials?|password)"
          r"|authentication (?:failed|required)|unauthenticated|not authenticated"
          r"|unauthorized|(?:token|session|credentials?) (?:has |have )?expired"
          r"|expired token|bad credentials|login (?:failed|required))\b",
          "invalid", "authen", "unauthorized", "expired", "credential", "login"),
    _pattern("permission", r"\b(?:permission denied|EACCES|EPERM|forbidden"
          r"|operation not permitted|access (?:is )?denied|not (?:allowed|permitted) to"
          r"|insufficient (?:permissions?|privileges?|scopes?)|read-only file system)\b",
          "permi", "eacces", "eperm", "denied", "forbidden", "insufficient",
          "not allowed", "read-only"),
    _pattern("http_status", r"\bHTTP(?:/\d(?:\.\d)?)?[ :]{1,3}(?:error |status )?"
          r"(?:code )?[:=]?[ ]{0,2}(?P<code>[45]\d\d)\b"
          r"|\b(?:status(?:[_ ]?code)?|response code)[\"']?[ :=]{1,4}(?P<status>[45]\d\d)\b"
          r"|\b(?P<number>[45]\d\d)[ :]{1,2}(?:Client Error|Server Error|Bad Request"
          r"|Unauthorized|Forbidden|Not Found|Method Not Allowed|Conflict|Gone"
          r"|Payload Too Large|Unprocessable|Too Many Requests|Internal Server Error"
          r"|Bad Gateway|Service Unavailable|Gateway Time-?out)"),
    _pattern("timeout", r"\b(?:timed?[ -]?out|deadline exceeded|time limit exceeded"
          r"|ETIMEDOUT)\b", "time", "deadline"),
    _pattern("encoding", r"codec can't (?:de|en)code|\binvalid (?:start|continuation) byte"
          r"|\b(?:invalid|not valid) utf-?8|\bunexpected BOM\b|\bmojibake\b",
          "codec", "byte", "utf", "bom", "mojibake"),
    _pattern("dependency", r"\b(?:No module named|Cannot find (?:module|package)"
          r"|unable to resolve dependency|ResolutionImpossible|unresolved import"
          r"|conflicting (?:dependencies|peer)|peer dep|No matching distribution"
          r"|version conflict|incompatible version|could not find a version)",
          "module", "package", "depend", "resolution", "peer dep", "import",
          "distribution", "version"),
    _pattern("environment", r"\b(?:command not found|is not recognized as an internal"
          r"|environment variable|ECONNREFUSED|connection refused|is not installed"
          r"|no space left on device)\b",
          "command not found", "recognized", "environment", "refused", "installed",
          "no space"),
    _pattern("concurrency", r"\b(?:deadlock|database is locked|could not serialize access"
          r"|race condition|lock wait timeout|resource temporarily unavailable"
          r"|already locked)\b", "lock", "serialize", "race", "unavailable"),
    _pattern("not_found", r"\b(?:no such file or directory|ENOENT|does ?n[o']t exist"
          r"|do not exist|not found|cannot find|could not find|no such (?:table|column"
          r"|key|index|container|image|method|option)|unknown (?:column|table|database"
          r"|host)|did not appear verbatim|not available|no matches)\b",
          "no such", "enoent", "exist", "found", "find", "unknown", "verbatim",
          "available", "matches"),
    _pattern("expectation", r"\b(?:does not (?:add up|match|equal)|mismatch(?:ed)?"
          r"|assertion failed|differs from)\b",
          "does not", "mismatch", "assertion", "differs"),
    _pattern("format", r"\b(?:syntax error|parse error|invalid (?:json|yaml|format|syntax"
          r"|date)|malformed|unterminated|unexpected (?:token|end|indent|character|eof)"
          r"|not valid json)\b",
          "syntax", "parse", "invalid", "malformed", "untermin", "unexpected", "json"),
    _pattern("exit_code", r"\b(?:exit(?:ed with)?(?: code| status)|return ?code|exit_code)"
          r"[\"']?[ :=]{0,4}(?:is )?(?P<code>[1-9]\d{0,2})\b", "exit", "return"),
)  # fmt: skip
