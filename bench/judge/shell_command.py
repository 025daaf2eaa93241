"""Split a shell command into the programs that it runs, and mask what varies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

# Programs that run another program, which is the one that speaks.
_WRAPPER = re.compile(
    r"sudo|doas|env|time|timeout|nohup|nice|stdbuf|command|exec|xargs|npx|bunx|pnpx|uvx"
)
_TWO_WORD_WRAPPER = re.compile(
    r"(?:uv|poetry|pipenv|rye) run|(?:bundle|pnpm|npm|mise) exec"
)
# Programs that prepare the command, and say nothing about it.
_SILENT = re.compile(
    r"cd|pushd|popd|export|set|unset|source|\.|echo|printf|true|false|sleep|:|mkdir"
)
# Programs whose output is the text of something else.
_READER = re.compile(
    r"cat|bat|head|tail|e?grep|rg|sed|awk|less|more|wc|sort|uniq|cut|tr|jq|diff|comm|ls|find"
    r"|fd|tree|file|stat|strings|xxd|column|tee|git (?:show|log|diff|blame|grep|status)"
    r"|gh (?:pr|run|api|issue|repo)"
)
# Commands that only look whether something is there.
_PROBE = re.compile(r"pwd|ls|which|whoami|type|where|whereis|date|uname")
PROBE_FLAGS = frozenset({"--version", "-V", "--help", "-h", "version"})

_HEREDOC = re.compile(
    r"<<-?\s*(['\"]?)(\w+)\1(?P<rest>[^\n]*)\n.*?(?:^\s*\2\s*$|\Z)", re.DOTALL | re.M
)
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_TOKEN = re.compile(
    r"""(?P<redirection>\d?(?:>>?|<)(?:&\d|\s*[^\s;|&]+)?|&>\s*\S+)
    |(?P<operator>&&|\|\||[|;&\n()])
    |(?P<word>(?:\$\([^()]*\)|[^\s'"|;&<>()\\]|\\.|'[^']*'|"(?:\\.|[^"\\])*")+)
    |(?P<other>\S)""",
    re.VERBOSE | re.DOTALL,
)
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_HEX = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b")
_QUOTED = re.compile(
    r"""'[^'\n]*'|"[^"\n]*"|`[^`\n]*`|\u2018[^\u2018\u2019\n]*\u2019"""
)
_PATH = re.compile(r"(?<![\w.])(?:~|\.{1,2})?(?:[\w.@+-]{0,200}/)+[\w.@+-]*")
_PARENTHESES = re.compile(r"\([^()]*\)")
_CODE_WORD = re.compile(
    r"\b(?:\w+(?:\.\w+)+|\w+_\w+|[a-z]+[A-Z]\w*|[A-Z][^\Wa-z]*[a-z][^\WA-Z]*[A-Z]\w*)\b"
)
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class ShellSegment:
    """One program of a command with its words; `is_piped` if it reads another's output.

    `prefix` has the assignments and the wrappers before the program.
    """

    words: tuple[str, ...]
    prefix: tuple[str, ...] = ()
    is_piped: bool = False

    @property
    def program(self) -> str:
        return PurePosixPath(_bare(self.words[0])).name if self.words else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[1:]

    @property
    def is_reader(self) -> bool:
        names = self.program, " ".join((self.program, *self.words[1:2]))
        return any(map(_READER.fullmatch, names))

    @property
    def is_probe(self) -> bool:
        asks = bool(PROBE_FLAGS & set(self.words[1:]))
        return asks or bool(_PROBE.fullmatch(self.program))

    def mask_words(self) -> tuple[str, ...]:
        """All words with quotes, paths, ids and numbers masked; flags and names stay."""
        return tuple(map(mask, (*self.prefix, *self.words)))


def split_segments(command: str) -> tuple[ShellSegment, ...]:
    """Return the segments in order, without assignments and wrappers before the program."""
    text = _HEREDOC.sub(lambda found: found["rest"] + "\n", command)
    text = _COMMENT.sub("", text.replace("\\\n", " "))
    segments: list[ShellSegment] = []
    words: list[str] = []
    is_piped = False
    for token in _TOKEN.finditer(text):
        if token["word"]:
            words.append(token["word"])
        elif token["operator"]:
            segments += _segment(words, is_piped=is_piped)
            words, is_piped = [], token["operator"] == "|"
    return (*segments, *_segment(words, is_piped=is_piped))


def speaking_segments(command: str) -> tuple[ShellSegment, ...]:
    """Return the segments that may say an error: no preparations, no filters of output."""
    return tuple(
        segment
        for segment in split_segments(command)
        if not _SILENT.fullmatch(segment.program)
        and not (segment.is_piped and segment.is_reader)
    )


def is_only_reading(command: str) -> bool:
    """Whether a command only shows the text of something else."""
    found = speaking_segments(command)
    return bool(found) and all(segment.is_reader for segment in found)


def mask(text: str) -> str:
    """Replace quotes, paths, hexadecimal ids and digits."""
    text = _QUOTED.sub("'…'", text)
    text = _PATH.sub("…/…", text)
    return _DIGITS.sub("N", _HEX.sub("#", text))


def mask_code(text: str) -> str:
    """Mask also what looks like code: `snake_case`, `camelCase`, `a.b`, and parentheses."""
    return _CODE_WORD.sub("…", _PARENTHESES.sub("(…)", mask(text)))


def share_of_words(first: Iterable[str], second: Iterable[str]) -> float:
    """Return how many of the distinct words of both are in both (Jaccard), 0 to 1."""
    one, other = set(first), set(second)
    return len(one & other) / len(one | other) if one | other else 0.0


def _segment(words: list[str], *, is_piped: bool) -> list[ShellSegment]:
    rest = _unwrap(words)
    if not rest:
        return []
    prefix = words[: len(words) - len(rest)]
    return [ShellSegment(tuple(rest), tuple(prefix), is_piped)]


def _unwrap(words: list[str]) -> list[str]:
    """Return the words from the program on."""
    while words and _VARIABLE.match(words[0]):
        words = words[1:]
    if len(words) > 2 and _TWO_WORD_WRAPPER.fullmatch(" ".join(words[:2])):
        return _unwrap(_after_options(words[2:]))
    if len(words) > 1 and _WRAPPER.fullmatch(words[0]):
        return _unwrap(_after_options(words[1:]))
    return words


def _after_options(words: list[str]) -> list[str]:
    """Return the words after a wrapper's flags, durations and assignments."""
    while len(words) > 1 and (words[0].startswith("-") or words[0][0].isdigit()):
        words = words[1:]
    return words


def _bare(word: str) -> str:
    return word.strip("'\"") or word
