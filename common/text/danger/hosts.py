"""Find addresses of hosts that do not belong to the project.

A host that the text only names is fine if it is a well-known site with documentation, or
one of the names that are reserved for examples. A host from which the text fetches or to
which it sends something must be the project's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cache

from common.text.danger.word_tables import read_lines

_URL = re.compile(
    r"\b(?P<scheme>[a-z][a-z0-9+.-]{1,20})://(?:[^\s/@\"'<>]{0,200}@)?"
    r"(?P<host>\[[0-9a-f:.]{2,45}\]|[^\s/:?#\"'<>()\[\]{},|\\]{1,253})"
    r"(?P<path>(?::\d{1,5})?[^\s\"'<>|)\]}]{0,500})"
)
_SSH = re.compile(r"\bgit@(?P<host>[\w.-]{1,253})(?P<path>:[\w./~-]{1,200})")
_BARE = re.compile(
    r"(?<![\w@./:$%-])(?P<host>(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,6}"
    r"(?:com|net|org|io|dev|ru|cn|xyz|top|biz|tk|site|online|club|icu|pw|cc|su|to|sh|me"
    r"|info|live|cloud|app|store|tech|space|gg|ai|co|eu|uk|de|example|test|invalid))"
    r"(?P<path>(?::\d{1,5})?/[^\s\"'<>|)\]}]{0,500})"
)
_BARE_HOST = re.compile(
    r"(?<![\w@./:$%-])(?P<host>(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,6}"
    r"(?:com|net|org|ru|cn|xyz|biz|tk|icu|example|invalid))(?P<path>)(?![\w(/-]|\.\w)"
)
_MAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@(?P<host>(?:[\w-]{1,63}\.){1,6}[a-z]{2,12})(?P<path>)"
)
_LOOPBACK = re.compile(
    r"(?:.{1,100}\.)?localhost|127(?:\.\d{1,3}){1,3}|\[?::1\]?|.{1,200}\.(?:test|localhost)"
    r"|host\.docker\.internal|testserver|[a-z_][a-z0-9_-]{0,40}|\$.*|<.*|\.\.\."
)
_EXAMPLE = re.compile(
    r"(?:(?:www|api|app|docs|cdn|shop|host|your-\w+|my-?\w+|auth|sso|mail|static|img|images"
    r"|blog|dev|staging|prod|db|internal|service|hooks|foo|a|b|x)\.)?example\.(?:com|org|net)"
)
_RESERVED = re.compile(r".{0,250}\.(?:example|invalid)")
# Words by which a text fetches from an address, sends to it or sets it.
_ACT = re.compile(
    r"\b(?:curl|wget|iwr|irm|fetch\w{0,3}|download\w{0,3}|install\w{0,3}|clone|pull|push"
    r"|send\w{0,3}|upload\w{0,3}|post(?!gres)\w{0,3}|submit|forward\w{0,3}|report to|ping"
    r"|notify|exfiltrat\w{1,3}|load|import|source|run|execut\w{1,3}|eval|mirror|registry"
    r"|index|proxy|webhook|remote|origin|upstream|configure|point|redirect|switch|set|deploy"
    r"|connect|sync|mail|email|share|copy|get it from|take it from|scp|rsync|nc|lade"
    r"|herunterladen|telecharg\w{1,3}|descarg\w{1,3}|scaric\w{1,3}|baix\w{1,3}|pobierz"
    r"|indir\w{0,3}|envo\w{1,4}|envi\w{1,3}|invia|send|wyslij|gonder|skicka|ladda"
    r"|obey|follow)\b"
    r"|[\u4e0b\u8f7d\u53d1\u9001\u4e0a\u4f20\u5b89\u88c5]{2}|\u30c0\u30a6\u30f3\u30ed\u30fc\u30c9|\u9001\u4fe1"
)
_RECIPIENT = re.compile(
    r"\b(?:to|at|an|a|para|per|aan|do|na|a la|till|\u7ed9)[ \"'<(]{0,3}$"
)
_LOOK_BACK = 90
_CODE_HOSTS = ("github.com", "gitlab.com", "huggingface.co")


@dataclass(frozen=True)
class Address:
    """A host of a text, with the path after it."""

    host: str
    path: str
    start: int
    end: int
    full: bool  # with a scheme or a path
    mail: bool = False

    @property
    def whole(self) -> str:
        return f"{self.host}{self.path}".rstrip("/.,;:!?")


def find_foreign_hosts(text: str, own: Set[str]) -> Iterator[Address]:
    """Yield the addresses of a text that are not the project's."""
    for address in find_addresses(text):
        if not is_own(address, own) and _is_foreign(address, text):
            yield address


def find_addresses(text: str) -> list[Address]:
    found: list[Address] = []
    if "://" in text:
        found += _matches(_URL, text, full=True)
    if "git@" in text:
        found += _matches(_SSH, text, full=True)
    if "." in text and "/" in text:
        found += _matches(_BARE, text, full=True)
    if "@" in text:
        found += _matches(_MAIL, text, full=False, mail=True)
    if "." in text:
        found += _matches(_BARE_HOST, text, full=False)
    return found


def _matches(
    pattern: re.Pattern[str], text: str, *, full: bool, mail: bool = False
) -> Iterator[Address]:
    for match in pattern.finditer(text):
        host = match["host"].strip(".*")
        yield Address(host, match["path"], *match.span(), full=full, mail=mail)


def is_own(address: Address, own: Set[str]) -> bool:
    """Whether the address is one of the project's hosts or begins as one of its paths."""
    host = address.host
    whole = f"{host}{address.path.replace(':', '/', 1) if '/' not in address.path[:1] else address.path}"
    for place in own:
        prefix = place.lower().rstrip("/")
        name = prefix.split("/", 1)[0]
        if "/" not in prefix:
            if host == name or host.endswith(f".{name}"):
                return True
        elif _begins(whole, prefix) or _begins(address.whole, prefix):
            return True
    return False


def _begins(whole: str, prefix: str) -> bool:
    whole = whole.removesuffix(".git")
    return whole == prefix or whole.startswith(
        (f"{prefix}/", f"{prefix}.git", f"{prefix}#")
    )


def _is_foreign(address: Address, text: str) -> bool:
    host = address.host
    if _LOOPBACK.fullmatch(host):
        return False
    acts = _acts(address, text)
    if _EXAMPLE.fullmatch(host):
        return False
    if _RESERVED.fullmatch(host):
        return acts
    if is_public(host):
        return acts and address.full and host not in _package_hosts()
    return acts if not address.full else True


def is_public(host: str) -> bool:
    """Whether the host is a well-known site that people read."""
    labels = host.split(".")
    tails = (".".join(labels[at:]) for at in range(len(labels) - 1))
    return any(tail in _public_hosts() for tail in tails)


def has_no_code(host: str) -> bool:
    """Whether the host is this machine, a standard index of packages or no code's host."""
    if _LOOPBACK.fullmatch(host):
        return True
    return is_public(host) and not host.endswith(_CODE_HOSTS)


def _acts(address: Address, text: str) -> bool:
    """Whether the words before the address, in its sentence, fetch or send."""
    before = text[max(0, address.start - _LOOK_BACK) : address.start]
    before = re.split(r"[.!?;](?=\s)|\n", before)[-1]
    if address.mail and not _RECIPIENT.search(before):
        return False
    return _ACT.search(before) is not None


@cache
def _public_hosts() -> frozenset[str]:
    return frozenset(read_lines("public_hosts")) | _package_hosts()


@cache
def _package_hosts() -> frozenset[str]:
    return frozenset(read_lines("package_hosts"))
