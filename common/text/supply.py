"""Say whether a repair or a text leads to another package, remote, host or index.

A call is text that a client sends, and one wrong letter in a name is enough to run somebody
else's code. So what leads elsewhere waits for a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import combinations

from common.text.visible import matching_form

MAX_TEXT = 20_000  # characters; a longer text is content and not a command
MAX_NAMED = 3
MAX_SPANS = 30  # spans of a text that are compared with each other
MAX_OPERANDS = 60

# Programs that take code from somewhere, and their subcommands that name where. Of the first
# group every operand counts, of the others only the first one.
_INSTALLERS = {
    **dict.fromkeys(("pip", "uv", "poetry", "pipenv", "pdm"), "pypi"),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), "npm"),
    **dict.fromkeys(("apt", "apt-get", "apk", "yum", "dnf", "brew", "snap"), "system"),
    **dict.fromkeys(("conda", "mamba"), "conda"),
    **dict.fromkeys(("cargo", "gem", "composer", "go", "dotnet", "helm"), ""),
}
_INSTALLS = frozenset(
    ["install", "add", "i", "get", "require", "download", "tap", "package", "set"]
)
_FIRST = {
    **dict.fromkeys(("docker", "podman"), frozenset(["pull", "run", "push", "login"])),
    "git": frozenset(["clone", "push", "pull", "fetch", "add", "set-url"]),
    **dict.fromkeys(("npx", "uvx", "pipx", "bunx"), frozenset()),
    **dict.fromkeys(("ssh", "sftp", "telnet", "nc"), frozenset()),
}
_SOURCE_WORDS = frozenset(
    [
        "package",
        "packages",
        "dependency",
        "host",
        "hosts",
        "hostname",
        "url",
        "uri",
        "registry",
        "index",
        "image",
        "remote",
        "mirror",
        "proxy",
        "goproxy",
        "endpoint",
        "server",
        "domain",
        "repository",
        "repo",
        "channel",
        "source",
        "insteadof",
    ]
)
_SHORT_OPTIONS = frozenset(
    ["pip -i", "pip -f", "conda -c", "psql -h", "mysql -h", "redis-cli -h", "curl -x"]
)
_TAKES_VALUE = re.compile(
    r"-(?:[rcetvpwunCf]|-(?:requirement|constraint|group|python|name|volume|env|workdir|version|set|values"
    r"|namespace|target|editable|publish|network|platform))"
)
_CONTRAST = re.compile(
    r"\b(?:instead of|rather than|in (?:place|fa.?o.?u?r) of|replaced (?:by|with)|renamed to|moved to|switch (?:to|from)|successor)\b"
)
_SUBJECT = re.compile(
    r"\b(?:install(?:s|ed|ing)?|packages?|dependenc(?:y|ies)|registry|mirror)\b"
)
_SEGMENT = re.compile(r"[;&|\n()`]+|\$\(")
_TOKEN = re.compile(r"\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'|[^\s\"']{1,400}")
_ADDRESS = re.compile(
    r"(?<![\w.+-])(?:[a-z][a-z0-9+.-]{1,20}://(?:[^\s/@\"'<>]{1,200}@)?"
    r"(?P<host>\[[0-9a-f:.]{2,60}\]|[^\s/:@\"'<>\\`,;)]{1,255})(?::\d{1,5})?(?P<path>/[^\s\"'<>`,;)?#]{0,400})?"
    r"|[\w.-]{1,60}@(?P<scp>[\w.-]{1,255}):(?P<scp_path>[^\s\"'<>`,;)]{1,400}))",
    re.IGNORECASE,
)
_LOOPBACK = re.compile(
    r"(?:localhost|[\w-]{1,60}\.localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[?::1\]?)(?::\d+)?"
)
_LOCAL = re.compile(
    r"[.~/\\].*|<.*>|-+|\d[\d.]*|.*\.(?:txt|toml|whl|zip|gz|ya?ml|json|cfg|lock|py|js|ts|png|jpe?g|svg|pdf)",
    re.DOTALL,
)
_VERSION = re.compile(r"(?<=.)(?:[=<>!~^]=?|@(?!/)|\[|;|:).*", re.DOTALL)
_CODE = re.compile(r"`([^`\n]{1,300})`|\"([^\"\n]{1,300})\"")
_WORD = re.compile(r"[\w@][\w@/.-]{0,200}")
_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MODULE_OPTION = re.compile(
    r"(?:^|\s)(?:python|py)(?:3(?:\.\d{1,2})?)?(?:\.exe)?\s+-m\s+"
)

Source = tuple[str, str]  # a kind, such as "pypi" or "address", and a name


def describe_change(
    before: Set[Source], after: Set[Source], texts: Iterable[str] = ()
) -> str:
    """Return a sentence about the sources that only `after` has, or an empty text.

    A name that the texts of `before` already say is no other name: a missing program may
    be installed.
    """
    said = {word.lower() for text in texts for word in _WORD.findall(text)}
    new = {source for source in after - before if source[1] not in said}
    if not any(kind == "git" for kind, _ in before):
        new.discard(("git", "origin"))  # the remote of a command that names none
    if not new:
        return ""
    names = ", ".join(name for _, name in sorted(new)[:MAX_NAMED])
    return f"It leads to another package, remote, host, registry or index: {names}."


def describe_text(text: str) -> str:
    """Return a sentence if the text itself replaces one source by another one."""
    spans = [a or b for a, b in _CODE.findall(text)]
    known = [found for span in spans if (found := find_sources(span))][:MAX_SPANS]
    for one, other in combinations(known, 2):
        kinds = {kind for kind, _ in one} & {kind for kind, _ in other}
        left = {source for source in one if source[0] in kinds}
        right = {source for source in other if source[0] in kinds}
        if not (left <= right or right <= left):
            return describe_change(left, right)
    if any(" " in span.strip() for span in spans):
        return ""  # the commands in the text say it more exactly
    prose = " ".join(_CODE.sub(" ", matching_form(text).text).lower().split())
    if _CONTRAST.search(prose) and _SUBJECT.search(prose):
        return "It replaces a package, remote, host, registry or index by another one."
    return ""


# The cache helps because each command of a task is compared several times.
@lru_cache(maxsize=512)
def find_sources(text: str) -> frozenset[Source]:
    """Find the sources that a command line names, without those of the machine itself."""
    found: set[Source] = set()
    for reading in {text[:MAX_TEXT], matching_form(text[:MAX_TEXT]).text}:
        plain = _MODULE_OPTION.sub(" ", reading)
        found.update(_addresses(plain))
        for segment in _SEGMENT.split(plain):
            words = [
                token.strip("\"'").lstrip("!%") for token in _TOKEN.findall(segment)
            ]
            found.update(_settings(words))
            found.update(_operands(words))
    return frozenset(found)


def find_argument_sources(name: str, value: object) -> frozenset[Source]:
    """Find the sources in an argument of a tool, by the name and the value of the argument."""
    if not isinstance(value, str) or not value.strip():
        return frozenset()
    word = value.strip().lower()
    if found := find_sources(value):
        return found
    if _names_source(name) and not _is_local(word):
        return frozenset([("argument", word)])
    return frozenset()


def _addresses(text: str) -> Iterator[Source]:
    for match in _ADDRESS.finditer(text):
        host = (match["host"] or match["scp"]).lower().rstrip(".")
        path = match["path"] or match["scp_path"] or ""
        if not _LOOPBACK.fullmatch(host):
            path = path.strip("/.").removesuffix(".git").lower()
            yield "address", f"{host}/{path}" if path else host


def _settings(words: Sequence[str]) -> Iterator[Source]:
    """Yield `NAME=value` and `--option value` whose names say that they are sources."""
    programs = set(map(_program, words))
    for place, word in enumerate(words):
        name, sign, value = word.partition("=")
        if not sign and name.startswith("-"):
            value = words[place + 1] if place + 1 < len(words) else ""
        elif not sign:
            continue
        is_short = any(f"{program} {name}" in _SHORT_OPTIONS for program in programs)
        if value and (is_short or _names_source(name)) and not _is_loopback(value):
            yield "setting", f"{name.lstrip('-').lower()}={value.lower().rstrip('/')}"


def _operands(words: Sequence[str]) -> Iterator[Source]:
    for place, word in enumerate(words):
        program = _program(word)
        if program not in _INSTALLERS and program not in _FIRST:
            continue
        rest = words[place + 1 : place + 1 + MAX_OPERANDS]
        names = [*_names(rest)]
        verbs = _FIRST.get(program, _INSTALLS)
        while verbs and names and names[0] not in verbs:
            names.pop(0)
        while verbs and names and names[0] in verbs:
            names.pop(0)
        kind = _INSTALLERS.get(program) or program
        for name in names if program in _INSTALLERS else names[:1]:
            if plain := _plain(name, kind):
                yield kind, plain
        return


def _names(words: Sequence[str]) -> Iterator[str]:
    """Yield the operands of a command, without its options and their values."""
    skips = False
    for word in words:
        if skips:
            skips = False
        elif word.startswith("-"):
            skips = bool(_TAKES_VALUE.fullmatch(word))
        else:
            yield word.lower()


def _plain(word: str, kind: str) -> str:
    """Return a name without its version; local files and addresses have none."""
    if _ADDRESS.search(word) or _is_local(word) or "$" in word:
        return ""
    if kind in ("docker", "podman"):
        head, slash, tail = word.partition("@")[0].rpartition("/")
        return head + slash + tail.partition(":")[0]
    name = _VERSION.sub("", word)
    return re.sub(r"[-_.]+", "-", name) if kind == "pypi" else name


def _program(word: str) -> str:
    name = word.rpartition("/")[2].lower().removesuffix(".exe")
    return re.sub(r"(?<=[a-z])\d(?:\.\d{1,2})?$", "", name)


def _is_loopback(value: str) -> bool:
    match = _ADDRESS.search(value)
    return bool(_LOOPBACK.fullmatch((match["host"] or "") if match else value))


def _is_local(word: str) -> bool:
    return bool(_LOCAL.fullmatch(word) or _is_loopback(word))


def _names_source(name: str) -> bool:
    """Whether a word of the name, such as `INDEX` in `PIP_INDEX_URL`, says it is a source."""
    parts = {part.lower() for part in _NAME_PARTS.findall(name)}
    return bool((parts | {name.lower()}) & _SOURCE_WORDS)
