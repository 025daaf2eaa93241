"""Find the names of packages, remotes, images, hosts, registries and indexes in a command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from common.text.text_tables import read_lines
from common.text.visible import matching_form

FOLDER = Path(__file__).parent / "words"
# In characters. A longer text is content and not a command.
MAX_TEXT = 20_000
# A word that is this many words behind its program is no subcommand.
MAX_DISTANCE = 6
MAX_OPERANDS = 60  # words behind a command that are looked at

_SEGMENT = re.compile(r"[;&|\n()`]+|\$\(")
_TOKEN = re.compile(r"\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'|[^\s\"']{1,400}")
_ADDRESS = re.compile(
    r"(?<![\w.+-])(?:[a-z][a-z0-9+.-]{1,20}://(?:[^\s/@\"'<>]{1,200}@)?"
    r"(?P<host>\[[0-9a-f:.]{2,60}\]|[^\s/:@\"'<>\\`,;)]{1,255})(?::\d{1,5})?"
    r"(?P<path>/[^\s\"'<>`,;)?#]{0,400})?"
    r"|(?:[\w.-]{1,60})@(?P<scp>[\w.-]{1,255}):(?P<scp_path>[^\s\"'<>`,;)]{1,400}))",
    re.IGNORECASE,
)
_LOOPBACK = re.compile(
    r"localhost|[\w-]{1,60}\.localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[?::1\]?"
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w{0,60})=(?!=)(.{0,400})", re.DOTALL)
_VERSION = re.compile(r"(?:[=<>!~^]=?|@(?!/)|\[|;|:).*", re.DOTALL)
_LOCAL = re.compile(
    r"[.~/\\].*|<.*>|.*\.(?:txt|toml|whl|zip|gz|ya?ml|json|cfg|lock|py|js|ts"
    r"|png|jpe?g|gif|svg|webp|pdf)"
    r"|-+|\d+(?:\.\d+)*",
    re.DOTALL,
)
_SEPARATORS = re.compile(r"[-_.]{1,10}")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_MODULE_OPTION = re.compile(
    r"(?:^|\s)(?:python|py)(?:3(?:\.\d{1,2})?)?(?:\.exe)?\s+-m\s+"
)


@dataclass(frozen=True, order=True)
class CodeSource:
    """Something that code or data comes from, such as the package `requests` of PyPI."""

    kind: str
    name: str


@dataclass(frozen=True)
class _Command:
    """A row of `words/commands.txt`: which operands of the command are sources."""

    words: tuple[str, ...]
    kind: str
    position: str


# The cache helps because each command of a task is compared several times.
@lru_cache(maxsize=512)
def find_sources(text: str) -> frozenset[CodeSource]:
    """Find the sources that a command line names, without those of the machine itself.

    A text with other letters than ASCII is also read as a reader sees it, so that an
    invisible character in the name of a program hides nothing.
    """
    found = set(_read(text[:MAX_TEXT]))
    if not text.isascii():
        found.update(_read(matching_form(text[:MAX_TEXT]).text))
    return frozenset(found)


def _read(text: str) -> Iterator[CodeSource]:
    text = _MODULE_OPTION.sub(" ", text)
    yield from _addresses(text)
    for segment in _SEGMENT.split(text):
        yield from _of_segment(_tokens(segment))


def of_argument(name: str, value: object) -> frozenset[CodeSource]:
    """Find the sources in an argument of a tool, by the name and the value of the argument."""
    if not isinstance(value, str) or not value.strip():
        return frozenset()
    found = set(find_sources(value))
    if _names_source(name) and not _is_local(value.strip()) and not found:
        found.add(CodeSource("argument", value.strip().lower()))
    return frozenset(found)


def _addresses(text: str) -> Iterator[CodeSource]:
    for match in _ADDRESS.finditer(text):
        host = (match["host"] or match["scp"]).lower().rstrip(".")
        path = match["path"] or match["scp_path"] or ""
        if not _LOOPBACK.fullmatch(host):
            path = path.strip("/.").removesuffix(".git").lower()
            yield CodeSource("address", f"{host}/{path}" if path else host)


def _of_segment(tokens: Sequence[str]) -> Iterator[CodeSource]:
    programs: set[str] = set()
    for index, token in enumerate(tokens):
        if assignment := _ASSIGNMENT.fullmatch(token):
            yield from _setting(*assignment.groups())
        following = tokens[index + 1] if index + 1 < len(tokens) else ""
        yield from _of_option(token, following, programs)
        program = _program(token)
        if program in _programs_with_options():
            programs.add(program)
        for command in _commands().get(program, ()):
            if end := _match(command.words, tokens, index):
                yield from _operands(command, tokens[end : end + MAX_OPERANDS])
                break


def _setting(name: str, value: str) -> Iterator[CodeSource]:
    if _names_source(name) and value and not _LOOPBACK.match(_host_part(value)):
        yield CodeSource("setting", f"{name.lower()}={value.lower().rstrip('/')}")


def _of_option(token: str, following: str, programs: Set[str]) -> Iterator[CodeSource]:
    """Yield the setting of an option: of any program, or of one that stands before it."""
    name, sign, value = token.partition("=")
    if not name.startswith("-"):
        return
    keys = [name, *(f"{program} {name}" for program in programs)]
    if not any(_options().get(key) == "setting" for key in keys):
        return
    value = value if sign else following
    if value and not _LOOPBACK.match(_host_part(value)):
        yield CodeSource("setting", f"{name.lstrip('-')}={value.lower().rstrip('/')}")


def _match(words: Sequence[str], tokens: Sequence[str], start: int) -> int:
    """Return the index behind the words of a command, or 0.

    Options may stand between the words.
    """
    position = start + 1
    for word in words[1:]:
        while position < len(tokens) and tokens[position].lower() != word:
            is_option = tokens[position].startswith(("-", "+"))
            is_value = tokens[position - 1].startswith("-")
            if not (is_option or is_value) or position - start > MAX_DISTANCE:
                return 0
            position += 1
        if position >= len(tokens):
            return 0
        position += 1
    return position


def _operands(command: _Command, tokens: Sequence[str]) -> Iterator[CodeSource]:
    operands: list[str] = []
    skips = False
    for token in tokens:
        if skips:
            skips = False
            continue
        if token.startswith("-") and len(token) > 1:
            option = token.partition("=")[0]
            role = _options().get(f"{command.words[0]} {option}")
            skips = "=" not in token and (role or _options().get(option)) is not None
        elif not _ASSIGNMENT.fullmatch(token) or command.kind in ("setting", "image"):
            operands.append(token)
    for operand in _select(operands, command.position):
        if name := _normalise(operand, command.kind):
            yield CodeSource(command.kind, name)


def _select(operands: Sequence[str], position: str) -> Sequence[str]:
    if position == "*":
        return operands
    return operands[int(position) - 1 : int(position)]


def _normalise(operand: str, kind: str) -> str:
    """Return the name of an operand without its version; local files have no name."""
    word = operand.strip("\"'").lower()
    if _ADDRESS.search(word) or _LOOPBACK.match(_host_part(word)):
        return ""  # `_addresses` has it
    if kind in ("setting", "remote", "host", "registry"):
        return word
    if kind == "image":
        return word.partition("=")[2] or _without_tag(word)
    if _is_local(word):
        return ""
    name = _VERSION.sub("", word[1:])
    return _SEPARATORS.sub("-", word[:1] + name) if kind == "pypi" else word[:1] + name


def _without_tag(image: str) -> str:
    head, slash, tail = image.partition("@")[0].rpartition("/")
    return head + slash + tail.partition(":")[0]


def _host_part(value: str) -> str:
    match = _ADDRESS.search(value)
    return (match["host"] or match["scp"] or "") if match else value.partition(":")[0]


def _is_local(word: str) -> bool:
    return bool(_LOCAL.fullmatch(word) or _LOOPBACK.match(_host_part(word)))


def _names_source(name: str) -> bool:
    """Whether a word of the name, such as `INDEX` in `PIP_INDEX_URL`, says it is a source."""
    words = {word.lower() for word in _WORDS.findall(name)}
    return bool((words | {name.lower()}) & _names())


def _tokens(segment: str) -> list[str]:
    return [token.strip("\"'").lstrip("!%") for token in _TOKEN.findall(segment)]


def _program(token: str) -> str:
    name = token.rpartition("/")[2].lower().removesuffix(".exe")
    return re.sub(r"(?<=[a-z])\d(?:\.\d{1,2})?$", "", name)


@cache
def _commands() -> dict[str, tuple[_Command, ...]]:
    """Return the commands by program; a command with more words is tried first."""
    table: dict[str, list[_Command]] = {}
    for key, value in _read_values("commands"):
        kind, position = value.split()
        words = tuple(key.split())
        table.setdefault(words[0], []).append(_Command(words, kind, position))
    return {
        program: tuple(sorted(rows, key=lambda row: -len(row.words)))
        for program, rows in table.items()
    }


@cache
def _options() -> dict[str, str]:
    return dict(_read_values("options"))


@cache
def _programs_with_options() -> frozenset[str]:
    return frozenset(key.split()[0] for key in _options() if " " in key)


@cache
def _names() -> frozenset[str]:
    return frozenset(read_table("names"))


def _read_values(table: str) -> Iterable[tuple[str, str]]:
    for line in read_table(table):
        key, _, value = line.rpartition(": ")
        yield key, value


def read_table(name: str) -> list[str]:
    """Return the lines of a word table."""
    return read_lines(FOLDER / f"{name}.txt")
