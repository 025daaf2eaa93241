"""Find private keys: PEM, OpenSSH, PGP, PuTTY, and the keys of a Kubernetes configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    for head in _SECRET_DATA.finditer(text):
        place = head.end()
        while entry := _ENTRY.match(text, place):
            if len(entry["indent"]) <= len(head["indent"]):
                break
            if not placeholders.is_placeholder(entry["secret"]):
                yield Span(*entry.span("secret"), "kubernetes-secret")
            place = entry.end()
    for body in _JSON_DATA.finditer(text):
        for entry in _JSON_ENTRY.finditer(text, *body.span("body")):
            if not placeholders.is_placeholder(entry["secret"]):
                yield Span(*entry.span("secret"), "kubernetes-secret")
