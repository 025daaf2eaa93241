"""What a shell command did to which files, as far as its words tell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ace import patches, paths
from ace.paths import FileLink, Relation

# shlex reads character by character: about 1 MB a second.
MAX_COMMAND = 20_000

_READERS = frozenset(
    "cat head tail less more bat nl wc od xxd hexdump file strings diff cmp sort uniq "
    "cut jq yq md5sum sha1sum sha256sum stat source . awk gawk column comm readlink "
    "open goto scroll_up scroll_down view".split()
)
_SEARCHERS = frozenset(
    "grep egrep fgrep rg ag ack find fd ls tree locate which find_file search_file "
    "search_dir".split()
)
# Their operands are patterns and folders, never a file that was looked at.
_NAME_SEARCHERS = frozenset("find fd locate which find_file search_dir".split())
_FIRST_IS_PATTERN = frozenset(
    "grep egrep fgrep rg ag ack sed awk gawk jq yq search_file".split()
)
_NEUTRAL = frozenset("cd pwd echo printf true : export set date env test [ sleep".split())
_MODIFIERS = frozenset("vim vi nano emacs ed truncate chmod chown black isort".split())
_CREATORS = frozenset("touch tee create".split())
_DELETERS = frozenset("rm unlink shred".split())
_MOVERS = frozenset("mv rename".split())
_COPIERS = frozenset("cp install ln rsync scp".split())
_WRAPPERS = frozenset(
    "sudo time nohup exec command env nice xargs stdbuf timeout then do else if "
    "while ! uv poetry pipenv npx bunx".split()
)
_SHELLS = frozenset("bash sh zsh dash".split())
_IN_PLACE: dict[str, tuple[str, ...]] = {
    "sed": ("-i", "--in-place"),
    "perl": ("-i", "-pi"),
    "gofmt": ("-w",),
    "prettier": ("--write", "-w"),
    "eslint": ("--fix",),
    "ruff": ("--fix", "format"),
    "autopep8": ("-i", "--in-place"),
    "rustfmt": ("",),
}
_GIT: dict[str, Relation] = {
    "rm": "deleted",
    "checkout": "modified",
    "restore": "modified",
    "apply": "referenced",
    "diff": "read",
    "show": "read",
    "blame": "read",
    "log": "referenced",
    "add": "referenced",
}
_GIT_READS = frozenset({"diff", "show", "blame", "log", "status", "grep", "ls-files"})

_CHECK = re.compile(
    r"\b(?:pytest|tox|nox|unittest|jest|vitest|mocha|rspec|phpunit|ctest|ruff|flake8"
    r"|mypy|pyright|pylint|eslint|tsc|shellcheck|clippy|rubocop|golangci-lint"
    r"|(?:go|cargo|dotnet|swift|bazel|mvn|gradle|gradlew|sbt|mix|stack)"
    r"[ ]{1,3}(?:test|check|build|vet|verify|compile)"
    r"|(?:npm|yarn|pnpm|bun|make|just|rake|deno)[ ]{1,3}(?:run[ ]{1,3})?"
    r"(?:test|check|lint|build|typecheck|verify|ci)\w{0,20}"
    r"|manage\.py[ ]{1,3}(?:test|check))\b"
)
_HEREDOC = re.compile(r"<<-?[ \t]{0,4}(['\"]?)(\w{1,40})\1")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w{0,60}=")
_LINE_RANGE = re.compile(r"(\d{1,7})(?:,(\d{1,7}))?p")
_PUNCTUATION = frozenset(";&|<>()\n")


@dataclass(frozen=True)
class Simple:
    """One program with its arguments and the files its output is sent to."""

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    appends: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2] if self.words else ""

    @property
    def operands(self) -> tuple[str, ...]:
        return tuple(word for word in self.words[1:] if not word.startswith("-"))


def joined(argv: Sequence[str]) -> str:
    """Write an argument list as the command it is; `bash -lc X` is X."""
    if len(argv) > 2 and argv[0].rpartition("/")[2] in _SHELLS and "c" in argv[1]:
        return argv[2]
    if len(argv) == 2 and argv[0] == "apply_patch":
        return "\n".join(argv)
    return shlex.join(argv)


def parse(text: str) -> list[Simple]:
    """Split a command line into simple commands; broken quoting falls back to words."""
    commands = []
    for words in _split(_tokens(_without_heredocs(text[:MAX_COMMAND]))):
        simple = _unwrapped(_simple(words))
        if simple.program in _SHELLS and "-c" in simple.words[1:3]:
            commands += parse(simple.words[-1]) if text != simple.words[-1] else []
        elif simple.words or simple.writes or simple.appends:
            commands.append(simple)
    return commands


def links(text: str) -> list[FileLink]:
    """The files a command names, each with what the command does to it."""
    patch = patches.applied(text)
    if patch:
        return patch
    found: list[FileLink] = []
    folder = ""
    for simple in parse(text):
        if simple.program == "cd":
            folder = _entered(folder, simple.operands)
            continue
        found += [_inside(folder, link) for link in _links(simple)]
    return found


def is_check(text: str) -> bool:
    """Whether the command tests, lints, type-checks or builds."""
    return bool(_CHECK.search(text[:MAX_COMMAND]))


def only_reads(text: str) -> bool:
    """Whether every program only looks: its output is content, not a report."""
    commands = parse(text)
    return bool(commands) and all(_only_reads(simple) for simple in commands)


def targets(text: str) -> frozenset[str]:
    """The operands a check was narrowed to, such as `tests/test_login.py`."""
    words = [word for simple in parse(text) for word in simple.operands]
    return frozenset(word for word in words if "/" in word or "." in word)


def _only_reads(simple: Simple) -> bool:
    if simple.writes or simple.appends:
        return False
    program = simple.program
    if program == "git":
        return bool(_GIT_READS.intersection(simple.words[1:3]))
    if program == "sed":
        return not _edits_in_place(simple)
    return program in _READERS | _SEARCHERS | _NEUTRAL


def _without_heredocs(text: str) -> str:
    """Drop the bodies of here-documents: they are content, not commands."""
    kept, end = [], ""
    for line in text.split("\n"):
        if end:
            end = "" if line.strip() == end else end
            continue
        kept.append(_HEREDOC.sub(" ", line))
        if found := _HEREDOC.search(line):
            end = found[2]
    return "\n".join(kept)


def _tokens(text: str) -> list[str]:
    first = text.lstrip().split("\n", 1)[0]
    if first.split(" ", 1)[0] in {"edit", "insert"}:
        # SWE-agent: what follows the first line is the file's new text.
        text = first
    lexer = shlex.shlex(text, posix=True, punctuation_chars="".join(_PUNCTUATION))
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        return list(lexer)
    except ValueError:
        return text.split()


def _split(tokens: list[str]) -> Iterator[list[str]]:
    words: list[str] = []
    for token in tokens:
        if _is_operator(token) and not set(token) & set("<>"):
            yield words
            words = []
        else:
            words.append(token)
    yield words


def _is_operator(token: str) -> bool:
    return bool(token) and set(token) <= _PUNCTUATION


def _simple(tokens: list[str]) -> Simple:
    words: list[str] = []
    targets: dict[str, list[str]] = {">": [], ">>": [], "<": []}
    redirect = ""
    for token in tokens:
        if _is_operator(token):
            redirect = token
        elif redirect:
            targets.get(redirect.strip("&|\n"), []).append(token)
            redirect = ""
        else:
            words.append(token)
    return Simple(
        tuple(words), tuple(targets[">"]), tuple(targets[">>"]), tuple(targets["<"])
    )


def _unwrapped(simple: Simple) -> Simple:
    words = simple.words
    while words and (
        words[0] in _WRAPPERS
        or _ASSIGNMENT.match(words[0])
        or (len(words) < len(simple.words) and _is_wrapper_argument(words[0]))
    ):
        words = words[1:]
    return Simple(words, simple.writes, simple.appends, simple.reads)


def _is_wrapper_argument(word: str) -> bool:
    return word.startswith("-") or word == "run" or word.rstrip("smh").isdecimal()


def _entered(folder: str, operands: tuple[str, ...]) -> str:
    """Follow `cd`: below an absolute folder paths stay as typed."""
    target = operands[0].rstrip("/") if operands else ""
    if not target or target.startswith(("/", "~", "$", "-")) or ".." in target:
        return ""
    return f"{folder}/{target}" if folder else target


def _inside(folder: str, link: FileLink) -> FileLink:
    if not folder or link.path.startswith(("/", "~")):
        return link
    path = paths.normalise(f"{folder}/{link.path}", explicit=True) or link.path
    return FileLink(path, link.relation, link.line_start, link.line_end)


def _links(simple: Simple) -> list[FileLink]:
    written = [
        *_linked(simple.writes, "created", explicit=True),
        *_linked(simple.appends, "modified", explicit=True),
        *_linked(simple.reads, "read", explicit=True),
    ]
    return written + _links_of_program(simple)


def _links_of_program(simple: Simple) -> list[FileLink]:
    program, operands = simple.program, simple.operands
    if program == "git":
        return _links_of_git(operands)
    if program in _MOVERS:
        return _moved(operands)
    if program in _COPIERS:
        return [
            *_linked(operands[:-1], "read"),
            *_linked(operands[-1:], "created"),
        ]
    if program == "sed" and not _edits_in_place(simple):
        return _paged(operands)
    if program in _NAME_SEARCHERS:
        return []
    if program in _FIRST_IS_PATTERN:
        operands = operands[1:]
    if program == "open":
        return _opened(operands)
    if simple.words and "/" in simple.words[0]:
        operands = (simple.words[0], *operands)
    return _linked(operands, _relation(simple))


def _relation(simple: Simple) -> Relation:
    program = simple.program
    if program in _DELETERS:
        return "deleted"
    if program in _CREATORS:
        return "created"
    if program in _MODIFIERS or _edits_in_place(simple):
        return "modified"
    if program in _READERS or program in {"grep", "egrep", "fgrep"}:
        return "read"
    return "referenced"


def _edits_in_place(simple: Simple) -> bool:
    flags = _IN_PLACE.get(simple.program, ())
    return any(
        word in flags or (word.startswith("-i") and "-i" in flags)
        for word in simple.words[1:]
    )


def _links_of_git(operands: tuple[str, ...]) -> list[FileLink]:
    if not operands:
        return []
    verb, rest = operands[0], operands[1:]
    if verb == "mv":
        return _moved(rest)
    return _linked(rest, _GIT.get(verb, "referenced"))


def _moved(operands: tuple[str, ...]) -> list[FileLink]:
    return [*_linked(operands[:-1], "deleted"), *_linked(operands[-1:], "created")]


def _opened(operands: tuple[str, ...]) -> list[FileLink]:
    line = next((int(word) for word in operands[1:] if word.isdecimal()), None)
    path = paths.normalise(operands[0], explicit=True) if operands else None
    return [FileLink(path, "read", line)] if path else []


def _paged(operands: tuple[str, ...]) -> list[FileLink]:
    """`sed -n 10,25p file`: the lines that were printed."""
    found = _LINE_RANGE.fullmatch(operands[0]) if operands else None
    start = int(found[1]) if found else None
    end = int(found[2]) if found and found[2] else start
    return [
        FileLink(link.path, "read", start, end)
        for link in _linked(operands[1:], "read")
    ]


def _linked(
    texts: Sequence[str], relation: Relation, *, explicit: bool = False
) -> list[FileLink]:
    found = []
    for text in texts:
        name, line = paths.with_line(text.partition("::")[0])
        path = paths.normalise(name, explicit=explicit)
        if path:
            found.append(FileLink(path, relation, line, line))
    return found
