"""Find literals in text: identifiers, paths, numbers, quoted strings."""

from __future__ import annotations

import re
from collections.abc import Iterator

# No name, path or address that people type is longer than this. A longer term is data.
MAX_IDENTIFIER_LENGTH = 256

_TRAILING = ".,:;!?*…"
# A closing tag is a separate chunk, because `</div>` is not a path.
_CHUNK = re.compile(r"</\w*|[^\s,;()\[\]{}<>\"'`|=\u201c\u201d\u2018\u2019«»]+")
_URL = re.compile(
    r"(?<![\w+.-])[a-z][a-z0-9+.-]{1,30}://[^\s<>\"'`()\[\]{}]{1,2048}", re.IGNORECASE
)
# One colon ends a name (`src/auth.py:42`), but not in `std::vec`, `http://`, `C:\`.
_SINGLE_COLON = re.compile(r"(?<!:):(?![:/\\])")
_PATH_ROOTS = (
    "api|app|apps|bin|build|config|dist|docs|etc|home|include|lib|opt|origin|pkg|refs"
    "|scripts|src|static|templates|test|tests|tmp|tools|usr|var"
    "|application|audio|image|multipart|text|video"
)
# This part of a path has a dot, an underscore, a digit or a star.
_HAS_MARK = r"(?=(?:[^\W\d_]|[@+~-])*+[._\d*])"
# The pattern is used with fullmatch on one chunk, so no part needs anchors.
_CODE_LIKE = re.compile(
    "|".join(
        (
            r"--[A-Za-z][\w-]*|-[A-Za-z]",  # flags
            r"\$[A-Za-z_]\w*|@\w[\w./-]*",  # $HOME, @pytest.fixture
            r"[vV]\d[\w.+-]*",  # v10, v1.2.3-rc1
            r"\d+\.\d+\.\d[\w.+-]*|\d+\.\d+[a-z]+\d*",  # 1.2.3, 10.0.0.1, 3.14rc1
            r"\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?",  # 2026-01-31
            r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",  # alice@example.org
            r"[A-Za-z]:\\.+",  # C:\Users
            r"(?:~|\.{0,2})/(?=/*[\w@.*])[\w@.+*~/-]*[\w*/]",  # /etc/hosts, ./run, ../lib
            r"[\w@.+*~-]+/[\w@.+*~-]+(?:/[\w@.+*~-]*)+",  # a/b/c
            r"[\w@.+*~-]+/",  # handlers/
            rf"{_HAS_MARK}[\w@.+*~-]+/[\w@.+*~-]+",  # conftest.d/x, my_app/x
            rf"[\w@.+~-]+/{_HAS_MARK}[\w@.+*~-]+",  # docs/index.md, HTTP/2
            rf"(?:{_PATH_ROOTS})/[\w-]+",
            r"\w+(?:(?:::|->|#)\w+)+(?:\.\w+)*",  # std::vec, a->b, Class#method
            r"(?!(?:[A-Za-z]\.)+[A-Za-z]$)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+",  # os.path, x.py
            r"\.[A-Za-z][\w.-]+",  # .env, .github
            r"(?=[\w-]*?(?:[^\W_]_++|(?<!_)__++)[^\W_])[\w.-]+|_\w*[^\W_]",  # snake_case, __init__, MY_KEY
            r"(?![A-Z]+s$)(?=\w*(?:[a-z][A-Z]|[A-Z]{2}[a-z]))[\w+-]+",  # camelCase, SQLite
            r"[A-Za-z][A-Za-z-]*\d[\w.+-]*",  # E1101, utf-8, CVE-2024-1, python3
            r"(?=[0-9a-f-]*\d)(?=[0-9-]*[a-f])[0-9a-f-]{7,}",  # commits, digests, UUIDs
            r"C\+\+|[CF]#",
        )
    )
)
_PATH = re.compile(r"[\w.+~/][\w.+~/@-]*/[\w.+~@-]+|[\w.+-]*\.[A-Za-z]\w*")
_CALL = re.compile(r"(?<!\w)([A-Za-z_]\w{0,100})\(\)")
_NUMBER = re.compile(r"(?<![\w.])\d{1,40}(?:,\d{3}){0,10}(?:\.\d{1,40})?(?!\w*\.\w)")
_QUOTED = re.compile(
    r"`([^`\n]{1,200})`"
    r'|"([^"\n]{1,200})"'
    r"|“([^”\n]{1,200})”"
    r"|(?<!\w)'([^'\n]{1,200})'(?!\w)"
)


def find_identifiers(text: str) -> list[str]:
    """Find the identifiers of a text: return each whole and once, in order of appearance.

    Identifiers are names in snake_case, in camelCase or with dots, and also paths, error
    codes, versions, flags and addresses. Plain words and plain numbers are not identifiers.
    """
    calls = set(_CALL.findall(text)) if "()" in text else ()
    terms = dict.fromkeys(_terms(text))
    return [term for term in terms if term in calls or _is_code_like(term)]


def find_paths(text: str) -> list[str]:
    """Find identifiers that can be files of a code base, without a leading `./`.

    Examples are `src/auth.py`, `setup.py` and `bin/up`. A dotted name such as `os.path`
    looks like a file, so it is included. Addresses, folders and patterns are not included.
    """
    terms = (term.removeprefix("./") for term in find_identifiers(text))
    return list(dict.fromkeys(term for term in terms if _PATH.fullmatch(term)))


def find_literals(text: str) -> set[str]:
    """Find the terms that a merge must keep and that a lesson must take from its evidence.

    These terms are identifiers, numbers (without thousands separators) and quoted or
    back-ticked strings (without their quotes).
    """
    strings = {
        next(filter(None, match.groups())).strip() for match in _QUOTED.finditer(text)
    }
    numbers = {match[0].replace(",", "") for match in _NUMBER.finditer(text)}
    return (strings | numbers | set(find_identifiers(text))) - {""}


def _is_code_like(term: str) -> bool:
    if term.isdecimal() or (term.isalpha() and term[1:].islower()):
        return False
    return bool(_CODE_LIKE.fullmatch(term) or _URL.match(term))


def _terms(text: str) -> Iterator[str]:
    end = 0
    for url in _URL.finditer(text) if "://" in text else ():
        yield from _words(text[end : url.start()])
        yield url[0].rstrip(_TRAILING)
        end = url.end()
    yield from _words(text[end:])


def _words(text: str) -> Iterator[str]:
    for chunk in _CHUNK.findall(text):
        if len(chunk) > MAX_IDENTIFIER_LENGTH:
            continue
        if chunk.isalpha():  # most chunks: nothing to cut
            yield chunk
            continue
        for part in _SINGLE_COLON.split(chunk.lstrip(":!?*#…")):
            if term := part.rstrip(_TRAILING):
                yield term
