"""Find addresses of hosts that are neither the project's nor well-known sites for reading."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import cache

from common.text.text_spans import TextSpan
from common.text.text_tables import WORDS, read_lines

_PORT, _PATH = r"(?::\d{1,5})?", r"/[^\s\"'<>|)\]}]{0,500}"
_ADDRESS = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://(?:[^\s/@\"'<>]{0,200}@)?"
    r"(?P<host>\[[0-9a-f:.]{2,45}\]|[^\s/:?#\"'<>()\[\]{},|\\]{1,253})"
    r"(?P<path>(?::\d{1,5})?[^\s\"'<>|)\]}]{0,500})"
    r"|\bgit@(?P<scp>[\w.-]{1,253}):(?P<scp_path>[\w./~-]{1,200})"
    r"|(?<![\w./:$%-])(?:[\w.+-]{1,64}(?P<mail>@))?(?P<bare>(?:[a-z0-9][a-z0-9-]{0,61}\.){1,6}"
    rf"(?:(?:com|net|org|ru|cn|xyz|top|biz|invalid)(?:{_PORT}{_PATH})?"
    # Other domains are endings of files and attributes too, such as `report.sh`.
    rf"|(?:io|dev|site|online|cc|sh|me|live|cloud|app|ly){_PORT}{_PATH}))(?![\w(-]|\.\w)"
)
_LOOPBACK = re.compile(
    r"(?:.{1,100}\.)?localhost|127(?:\.\d{1,3}){1,3}|\[?::1\]?|.{1,200}\.(?:test|localhost)"
    r"|host\.docker\.internal|[a-z_][a-z0-9_-]{0,40}|\$.*|<.*|\.\.\."
    r"|(?:[\w-]{1,60}\.)?example\.(?:com|org)"
)
# Words by which a text fetches from an address or sends something to it.
_ACT = re.compile(
    r"\b(?:curl|wget|fetch|download|install|clone|pull|push|send|upload|post|submit|forward|report|run|load"
    r"|mirror|use|add|take|point|mail|scp|rsync|via|packages?|wheels|share)\b"
)
_CODE_HOSTS = ("github.com", "gitlab.com", "huggingface.co")


def find_foreign(text: str, own: Set[str]) -> Iterator[TextSpan]:
    """Yield the places of addresses, in a text in lower case, that are not the project's."""
    for match in _ADDRESS.finditer(text):
        host, path = _host(match)
        if _LOOPBACK.fullmatch(host) or _is_own(host, path, own):
            continue
        before = re.split(r"[.!?;]\s", text[max(0, match.start() - 90) : match.start()])
        acts = _ACT.search(before[-1]) is not None
        is_code = host.endswith(_CODE_HOSTS) and "/" in path.strip("/")
        if _is_public(host):
            is_foreign = acts and is_code
        else:
            is_foreign = acts or not match["bare"]
        if is_foreign and not (match["mail"] and not before[-1].endswith("to ")):
            yield match.span()


def are_known(text: str, own: Set[str]) -> bool:
    """Whether a command takes its code only from the project's hosts and public indexes."""
    found = [_host(match) for match in _ADDRESS.finditer(text)]
    return bool(found) and all(
        _LOOPBACK.fullmatch(host)
        or _is_own(host, path, own)
        or (_is_public(host) and not host.endswith(_CODE_HOSTS))
        for host, path in found
    )


def _host(match: re.Match[str]) -> tuple[str, str]:
    host = match["host"] or match["scp"] or re.split("[:/]", match["bare"])[0]
    path = match["path"] or match["scp_path"] or (match["bare"] or "")[len(host) :]
    return host.strip(".*"), path


def _is_own(host: str, path: str, own: Set[str]) -> bool:
    """Whether the address is one of the project's hosts or begins as one of its paths."""
    plain = re.sub(r"^:\d+(?=/|$)", "", path).strip("/.,;:!?").removesuffix(".git")
    for place in own:
        name, _, prefix = place.lower().rstrip("/").partition("/")
        if not prefix and (host == name or host.endswith(f".{name}")):
            return True
        if prefix and host == name and f"{plain}/".startswith(f"{prefix}/"):
            return True
    return False


def _is_public(host: str) -> bool:
    labels = host.split(".")
    tails = (".".join(labels[at:]) for at in range(len(labels) - 1))
    return any(tail in _public_hosts() for tail in tails)


@cache
def _public_hosts() -> frozenset[str]:
    return frozenset(" ".join(read_lines(WORDS / "public_hosts.txt")).split())
