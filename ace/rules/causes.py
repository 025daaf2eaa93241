"""Name the root cause of a task's errors, with a table of kinds, types, codes and phrases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ace.rules.evidence import Evidence

UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class CauseRow:
    """A cause, which applies when one of its kinds, types, codes or phrases matches.

    A kind, type or code must equal that of the evidence. A phrase is in lower case; the
    message must contain it as whole words.
    """

    code: str
    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


# The first matching row decides. So rows of causes come before rows of symptoms.
ROWS: tuple[CauseRow, ...] = (
    CauseRow(
        "RATE_LIMIT",
        kinds=("rate_limit",),
        types=("RateLimitError", "TooManyRequests"),
        codes=("429",),
    ),
    CauseRow(
        "CONCURRENCY",
        kinds=("concurrency",),
        types=("DeadlockDetected", "SerializationFailure", "BrokenBarrierError"),
        phrases=("deadlock", "race condition", "simultaneously", "at the same time"),
    ),
    CauseRow(
        "AUTH",
        kinds=("auth",),
        types=("AuthenticationError", "InvalidToken", "NotAuthenticated"),
        codes=("401",),
    ),
    CauseRow(
        "PERMISSION",
        kinds=("permission",),
        types=("PermissionError", "PermissionDenied"),
        codes=("403", "EACCES"),
    ),
    CauseRow(
        "ENCODING",
        kinds=("encoding",),
        types=("UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError"),
        phrases=("encoding", "utf-8", "charset", "unicode"),
    ),
    CauseRow(
        "DEPENDENCY",
        kinds=("dependency",),
        types=("ModuleNotFoundError", "ImportError", "VersionConflict"),
        phrases=("import statement", "dependency", "lock file", "requirements.txt"),
    ),
    CauseRow(
        "ENV_SETUP",
        kinds=("environment",),
        types=("ConnectionRefusedError", "ImproperlyConfigured"),
        phrases=("environment variable", "command not found", "virtualenv", "venv"),
        codes=("127",),
    ),
    CauseRow(
        "TIMEOUT",
        kinds=("timeout",),
        types=("TimeoutError", "TimeoutExpired", "ReadTimeout", "ConnectTimeout"),
        phrases=("time complexity", "too slow"),
        codes=("408", "504", "124"),
    ),
    CauseRow(
        "TOOL_ARGS",
        kinds=("argument",),
        phrases=("unexpected keyword", "required positional", "usage:"),
        codes=("422",),
    ),
    CauseRow(
        "API_SCHEMA",
        types=("ValidationError", "AttributeError", "FieldError", "NameError"),
        phrases=("schema", "validation error", "has no attribute", "cannot be used"),
        codes=("400", "405", "415"),
    ),
    CauseRow(
        "FORMAT",
        kinds=("format", "compiler", "lint"),
        types=("JSONDecodeError", "SyntaxError", "IndentationError", "ParseError"),
        phrases=("indented", "indentation", "malformed", "delimiter", "syntax"),
    ),
    CauseRow(
        "NOT_FOUND",
        kinds=("not_found",),
        types=("FileNotFoundError", "DoesNotExist", "NoSuchKey", "LookupError"),
        codes=("404", "410"),
    ),
    CauseRow(
        "REGRESSION",
        phrases=("regression", "used to work", "worked before", "broke"),
    ),
    CauseRow(
        "VALUE_MISMATCH",
        kinds=("expectation",),
        types=("AssertionError", "ValueError", "TypeError", "ZeroDivisionError"),
        phrases=("off by one", "does not match", "incorrect value", "wrong value"),
        codes=("409",),
    ),
    CauseRow(
        "INCOMPLETE_DATA",
        types=("KeyError", "IndexError", "StopIteration", "NullPointerException"),
        phrases=(
            "is missing",
            "not enough",
            "empty",
            "incomplete",
            "no rows",
            "missing value",
            "edge case",
            "edge cases",
        ),
    ),
    CauseRow(
        "WRONG_SOURCE",
        phrases=(
            "wrong file",
            "wrong branch",
            "wrong table",
            "outdated",
            "stale",
            "obsolete",
            "deprecated",
            "wrong environment",
            "wrong database",
        ),
    ),
    CauseRow(
        "REQUIREMENT_MISSED",
        phrases=(
            "problem statement",
            "requirement",
            "requirements",
            "requires",
            "required",
            "specification",
            "asked for",
            "the issue says",
            "acceptance criteria",
            "constraint",
            "constraints",
        ),
    ),
    CauseRow("VALUE_MISMATCH", kinds=("test_failure",)),
    CauseRow("LOOP", kinds=("loop",)),
    CauseRow(
        "NO_VERIFICATION",
        kinds=("no_check",),
        phrases=("without testing", "without running", "run the tests", "untested"),
    ),
    CauseRow("PREFERENCE", kinds=("directive", "preference", "next_time", "worked")),
)


def root_cause(
    evidence: Iterable[Evidence], extra_rows: Iterable[CauseRow] = ()
) -> str:
    """Return the code of the first row that matches any of the evidence.

    The project's own rows, `extra_rows`, are tried before `ROWS`.
    """
    spans = list(evidence)
    for row in (*extra_rows, *ROWS):
        if any(_fits(row, span) for span in spans):
            return row.code
    return UNKNOWN


def _fits(row: CauseRow, span: Evidence) -> bool:
    if span.kind in row.kinds or (span.code and span.code in row.codes):
        return True
    if span.error_type.rpartition(".")[2] in row.types:
        return True
    return any(_contains_phrase(span.message.lower(), phrase) for phrase in row.phrases)


def _contains_phrase(text: str, phrase: str) -> bool:
    start = text.find(phrase)
    while start >= 0:
        end = start + len(phrase)
        before, after = text[start - 1 : start], text[end : end + 1]
        if not before.isalnum() and not after.isalnum():
            return True
        start = text.find(phrase, end)
    return False
