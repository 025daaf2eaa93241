"""Read the text that an extractive summary is taken from.

The text is either of messages (`input_text`), or of summaries that were extracted before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from common.text import literals
from conversations.tokens import estimate_tokens

MOST_STATEMENT = 400  # characters of one sentence
MOST_COMMAND = 120  # characters of a command that is listed
# The start of a line of messages, and of a line of an extracted summary.
_ROLE = re.compile(r"\[(?P<role>user|assistant|system|tool)(?::(?P<more>[^\]]*))?\] ?")
_SPEAKER = re.compile(
    r"(?P<speaker>user|assistant|system|error|did"
    r"|Files|Commands|Also named|Expand for details about): "
)
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s)|(?=\n)|$)")
_COMMAND = re.compile(r'"(?:command|cmd)"\s*:\s*"((?:[^"\\]|\\.)*)')
# The number of a line, as tools write it before the line.
_NUMBERED = re.compile(r"^[ \t]{0,8}\d{1,7}[→|\t]")
# A path with a folder, or a name with an ending that files of a code base have.
_FILE = re.compile(
    r"(?!\w+://)(?:[\w.@+~-]*/)+[\w.@+-]+"
    r"|[\w.@+-]*\w\.(?:py|pyi|go|mod|sum|rs|js|jsx|mjs|ts|tsx|vue|svelte|css|scss|html?|md"
    r"|rst|txt|json|jsonl|ya?ml|toml|ini|cfg|conf|env|lock|xml|csv|sql|sh|bash|zsh|ps1|c|h"
    r"|cc|cpp|hpp|cs|java|kt|kts|scala|rb|php|swift|m|lua|r|jl|ex|exs|erl|hs|proto|tf"
    r"|gradle|properties|ipynb|log|diff|patch)"
)
# A text of a call's arguments, which may be cut off.
_ARGUMENT = re.compile(r'"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)"?')
# The arguments that say what a call is about, the most telling first.
NAMING_ARGUMENTS = ("command", "file_path", "path", "pattern", "query", "url", "prompt")
# How much a file and a number weigh beside other literals.
FILE_WEIGHT, NUMBER_WEIGHT = 1.5, 0.5
DID = "did"  # the speaker of what the assistant's calls did
# A line of a log that reports progress, although it stands in the output of a failed call.
_PROGRESS = re.compile(r"^\W*(?i:ok|pass(?:ed)?|✓|✔)\b|\b(?:INFO|DEBUG|TRACE|NOTICE)\b")
_CODE = re.compile(r"^\s*(?:[{}()\[\];#/*+<>|`-]+\s*)?$|^\s*\d+[→:|]|[{};]\s*$")


@dataclass(frozen=True)
class Statement:
    """A sentence, and who said it; `is_last` for the last words of a speaker."""

    speaker: str
    text: str
    literals: frozenset[str]
    is_last: bool = False

    @property
    def line(self) -> str:
        return f"{self.speaker}: {self.text}"

    def shorten(self, limit: int) -> Statement:
        return replace(self, text=self.text[:limit].rstrip())


@dataclass(frozen=True)
class SummarySource:
    """The statements of a text, and how often and how late its literals occur."""

    statements: tuple[Statement, ...]
    files: frozenset[str]
    commands: frozenset[str]
    # Each literal with the positions (0 to 1) at which it occurs.
    positions: dict[str, list[float]]

    @cached_property
    def literal_counts(self) -> Counter[str]:
        return Counter({each: len(at) for each, at in self.positions.items()})

    @cached_property
    def ranked_literals(self) -> list[str]:
        """All literals, the weightiest first."""
        return sorted(self.positions, key=lambda each: (-self.weight(each), each))

    @cached_property
    def literals_by_density(self) -> list[str]:
        """All literals, by their weight for each token that it takes to list them."""

        def density(literal: str) -> float:
            return self.weight(literal) / estimate_tokens(f"{literal}, ")

        return sorted(self.positions, key=lambda each: (-density(each), each))

    def weight(self, literal: str) -> float:
        """A literal weighs more if it occurs often and late, and if it is a file."""
        at = self.positions[literal]
        kind = FILE_WEIGHT if literal in self.files else 1.0
        if literal.isdecimal():
            kind = NUMBER_WEIGHT
        return float(len(at) ** 0.5 * (0.5 + max(at)) * kind)


def read_source(text: str, *, is_condensed: bool) -> SummarySource:
    """Read a text of messages, or of summaries if `is_condensed`."""
    statements: list[Statement] = []
    positions: dict[str, list[float]] = {}
    files: set[str] = set()
    commands: set[str] = set()
    lines = list(_lines(text, is_condensed))
    for number, (speaker, line) in enumerate(lines):
        at = (number + 1) / len(lines)
        found = _literals_of(_NUMBERED.sub("", line))
        if speaker in ("Files", "Commands", "Also named", "Expand for details about"):
            found = _items_of(speaker, line)
            if speaker == "Commands":
                commands |= found
        elif speaker.startswith("call "):
            ran = _commands_of(line)
            commands |= ran
            # The names of the arguments are the tool's, not the session's.
            values = "\n".join(match[2] for match in _ARGUMENT.finditer(line))
            found = ran | _literals_of(values.replace("\\n", "\n"))
            if statement := _call_statement(speaker.removeprefix("call "), line):
                statements.append(statement)
        elif speaker != "result" and not (
            speaker == "error" and _PROGRESS.search(line)
        ):
            statements += _statements_of(speaker, line)
        for literal in found:
            positions.setdefault(literal, []).append(at)
        files |= {each for each in found if _is_file(each)}
    return SummarySource(
        tuple(_mark_last(statements)), frozenset(files), frozenset(commands), positions
    )


def _lines(text: str, is_condensed: bool) -> Iterator[tuple[str, str]]:
    """Yield each line with its speaker; a line without one continues the line before."""
    speaker = "assistant"
    for line in text.splitlines():
        if not line.strip() or line.strip() == "---":
            continue
        if is_condensed and (match := _SPEAKER.match(line)):
            speaker = match["speaker"]
            line = line[match.end() :]
        elif match := _ROLE.match(line):
            speaker = _speaker_of(match, line)
            line = line[match.end() :].removeprefix("error: ")
        yield speaker, line


def _speaker_of(match: re.Match[str], line: str) -> str:
    more = match["more"] or ""
    if more.startswith("call "):
        return more
    if match["role"] == "tool":
        is_error = line[match.end() :].startswith("error:")
        return "error" if is_error else "result"
    return str(match["role"])


def _statements_of(speaker: str, line: str) -> Iterator[Statement]:
    if _CODE.search(line):
        return
    for match in _SENTENCE.finditer(line):
        text = match[0].strip()[:MOST_STATEMENT]
        # An emoji, and two characters of Chinese, say something.
        if len(text) > 2 or not text.isascii():
            yield Statement(speaker, text, frozenset(_literals_of(text)))


def _call_statement(tool: str, line: str) -> Statement | None:
    """Say in a sentence what a call did, from the values that name something."""
    values = {match[1]: match[2] for match in _ARGUMENT.finditer(line)}
    named = [values[name] for name in NAMING_ARGUMENTS if values.get(name)]
    if not named:
        return None
    first = named[0].split("\\n")[0].strip()[:MOST_COMMAND]
    verb = (
        "ran" if first == values.get("command", "")[: len(first)] else f"used {tool} on"
    )
    text = f"{verb} {first}"
    if why := values.get("description", ""):
        text += f" to {why[0].lower()}{why[1:MOST_COMMAND]}"
    return Statement(DID, f"{text}.", frozenset(_literals_of(text)) | {first})


def _mark_last(statements: list[Statement]) -> Iterator[Statement]:
    last = {each.speaker: number for number, each in enumerate(statements)}
    for number, each in enumerate(statements):
        yield replace(each, is_last=last[each.speaker] == number)


def _literals_of(text: str) -> set[str]:
    return {each for each in literals.find_literals(text) if _is_name(each)}


def _is_name(literal: str) -> bool:
    """Return whether a literal is more than a sign, and not a long quote."""
    return len(literal) <= MOST_COMMAND and sum(map(str.isalnum, literal)) > 1


def _commands_of(line: str) -> set[str]:
    raw = (match[1].split("\\n")[0] for match in _COMMAND.finditer(line))
    return {each.strip() for each in raw if 2 < len(each.strip()) <= MOST_COMMAND}


def _items_of(name: str, line: str) -> set[str]:
    items = {each.strip() for each in line.split(", ")}
    return items - {"none", "the messages", ""}


def _is_file(literal: str) -> bool:
    return bool(_FILE.fullmatch(literal))
