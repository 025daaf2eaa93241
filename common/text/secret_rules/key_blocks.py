"""Find private keys: PEM, OpenSSH, PGP, PuTTY, and the keys of a Kubernetes configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from common.text.secret_rules import placeholders
from common.text.secret_rules.spans import Span

# Atomic groups: Python before 3.11.5 matches possessive repeats of groups wrongly.
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?>(?:[^-]|-(?!----))*)-----END [A-Z0-9 ]{0,50}-----"
    # For a key that is cut off, only the part that looks like a key's body is the secret.
    r"|(?>(?:\s|\\[rn]|[A-Za-z0-9+/=]{16,})*))"
)
_SSH2 = re.compile(
    r"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----(?>(?:[^-]|-(?!---))*)(?:---- END[A-Z0-9 ]{0,40}----)?"
)
_PUTTY = re.compile(
    r"Private-Lines: \d+(?P<secret>(?:(?:\s|\\[rn])+[A-Za-z0-9+/=]{16,})+)"
)
# The values of a Secret of Kubernetes: every entry of `data` and `stringData`.
_SECRET_DATA = re.compile(
    r"^(?P<indent>[ \t]{0,16})(?:data|stringData):[ \t]*\n", re.MULTILINE
)
_ENTRY = re.compile(
    r"(?P<indent>[ \t]{1,32})[\w.\-\"']{1,128}:[ \t]+[\"']?(?P<secret>[^\s\"'#{|>]{4,8192})[\"']?[^\n]*(?:\n|\Z)"
)
_COMMENT = re.compile(r"^[ \t]{0,32}(?:#[^\n]*)?\n", re.MULTILINE)
# A value of several lines: `key: |`, then lines that are indented more than the key.
_BLOCK_HEAD = re.compile(
    r"(?P<indent>[ \t]{1,32})[\w.\-\"']{1,128}:[ \t]+[|>][-+\d]{0,2}[ \t]*\n"
)
_BLOCK_LINE = re.compile(r"(?P<indent>[ \t]{1,64})(?P<secret>\S[^\n]*)(?:\n|\Z)")
_DOCUMENT = re.compile(r"^---", re.MULTILINE)
_KUBERNETES = re.compile(r"kind[\"']?:\s{0,4}[\"']?secret\b", re.IGNORECASE)
_JSON_DATA = re.compile(
    r"\"(?:data|stringData)\"\s{0,4}:\s{0,4}\{(?P<body>[^{}]{0,16384})\}"
)
_JSON_ENTRY = re.compile(
    r"\"[\w.\-]{1,128}\"\s{0,4}:\s{0,4}\"(?P<secret>[^\"\s]{4,8192})\""
)
_DOCKER_AUTH = re.compile(
    r"\\?\"auth\\?\"\s{0,4}:\s{0,4}\\?\"(?P<secret>[A-Za-z0-9+/]{8,1024}={0,2})\\?\""
)
_NPM_AUTH = re.compile(
    r"_(?:auth|authToken|password)[ \t]{0,2}=[ \t]{0,2}\"?(?P<secret>[^\s\"'$]{8,1024})"
)


def find_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Find private keys and the secrets of configuration files with keys of their own."""
    if "private key" in lowered:
        for pattern in (_PEM, _SSH2):
            yield from (
                Span(*match.span(), "private-key") for match in pattern.finditer(text)
            )
    if "private-lines" in lowered:
        yield from (
            Span(*m.span("secret"), "private-key") for m in _PUTTY.finditer(text)
        )
    if "secret" in lowered and "data" in lowered and _KUBERNETES.search(text):
        yield from _find_kubernetes(text)
    if '"auth' in lowered and "auths" in lowered:
        yield from (
            Span(*m.span("secret"), "authorization")
            for m in _DOCKER_AUTH.finditer(text)
        )
    if "_auth" in lowered or "_password" in lowered:
        yield from (
            Span(*m.span("secret"), "npm-token")
            for m in _NPM_AUTH.finditer(text)
            if text[m.start() - 1 : m.start()] in (":", "", "\n", " ")
            and not placeholders.is_placeholder(m["secret"])
        )


def _find_kubernetes(text: str) -> Iterator[Span]:
    starts = [0, *(match.end() for match in _DOCUMENT.finditer(text)), len(text)]
    for start, end in pairwise(starts):
        if _KUBERNETES.search(text, start, end):
            yield from _find_data(text, start, end)
    yield from _find_json_entries(text)


def _find_data(text: str, start: int, end: int) -> Iterator[Span]:
    for head in _SECRET_DATA.finditer(text, start, end):
        yield from _find_entries(text, head.end(), len(head["indent"]))


def _find_entries(text: str, place: int, indent: int) -> Iterator[Span]:
    """Find the values of the entries that start at a place and are indented more."""
    while True:
        if comment := _COMMENT.match(text, place):
            place = comment.end()
        elif block := _BLOCK_HEAD.match(text, place):
            if len(block["indent"]) <= indent:
                return
            place = block.end()
            while line := _indented_line(text, place, len(block["indent"])):
                yield Span(*line.span("secret"), "kubernetes-secret")
                place = line.end()
        elif (entry := _ENTRY.match(text, place)) and len(entry["indent"]) > indent:
            if not placeholders.is_placeholder(entry["secret"]):
                yield Span(*entry.span("secret"), "kubernetes-secret")
            place = entry.end()
        else:
            return


def _indented_line(text: str, place: int, indent: int) -> re.Match[str] | None:
    line = _BLOCK_LINE.match(text, place)
    return line if line and len(line["indent"]) > indent else None


def _find_json_entries(text: str) -> Iterator[Span]:
    for body in _JSON_DATA.finditer(text):
        for entry in _JSON_ENTRY.finditer(text, *body.span("body")):
            if not placeholders.is_placeholder(entry["secret"]):
                yield Span(*entry.span("secret"), "kubernetes-secret")
