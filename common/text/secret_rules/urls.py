"""Find the passwords and keys in URLs: `scheme://user:password@host`, `?api_key=`, webhooks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from common.text.secret_rules import names, placeholders, values
from common.text.secret_rules.spans import Span, has_digit, is_random

_USER = re.compile(r"://[^\s/?#:@'\"<>\[\]`]{0,256}:")
# The password ends at the last @ before the path, so it may itself hold an @.
_REST = re.compile(r"(?:(?!://)[^\s'\"<>`]){1,512}")
_SLASH = re.compile(r"[/?#]")
_PORT = re.compile(r"\d{1,5}(?=[/?#]|$)")
# A name before a colon that no port follows: a part of the password.
_NO_PORT = re.compile(r"@[^\s/?#@:,\[\]{}$%<>*]+:(?=[A-Za-z])[\w-]+\Z")
_WEB = ("http", "https", "ws", "wss", "git", "svn")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}\Z")
# A name that is longer than any host is one too: what follows it does not matter.
_HOST = re.compile(
    r"[\w.\-\[\]:%{}$*()](?:[\w.\-\[\]:%{}$*(]{255}|[\w.\-\[\]:%{}$*(]{0,254}+(?=[/?#\s'\"<>`;,)\\]|\Z))"
)
# The user and password of MySQL's drivers: user:password@tcp(host:3306)/database.
_DRIVER = re.compile(
    r"(?<![\w.-])[\w.-]{1,64}:(?P<secret>[^\s:@/'\"]{1,128})@(?:tcp|udp|unix)\("
)
_QUERY = re.compile(
    r"(?:[?&;]|%3[fF]|%26|&amp;|\?)(?P<name>[A-Za-z_][\w.\-\[\]]{0,60})=(?P<secret>[^\s&#\"'<>`;\\)]{1,2048})"
)
_SIGNATURES = frozenset(
    [
        "sig",
        "signature",
        "x-amz-signature",
        "x-goog-signature",
        "x-amz-credential",
        "x-amz-security-token",
        "hmac",
        "sas",
        "hdnea",
        "hdnts",
    ]
)
_CODES = frozenset(
    ["code", "state_token", "invite", "ticket", "assertion", "client_assertion"]
)
_WEBHOOKS: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    (
        "slack-webhook",
        "hooks.slack",
        re.compile(
            r"hooks\.slack(?:-gov)?\.com/(?P<secret>(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{16,200})"
        ),
    ),
    (
        "discord-webhook",
        "/webhooks/",
        re.compile(
            r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/(?P<secret>\d{10,22}/[\w-]{20,120})"
        ),
    ),
    (
        "teams-webhook",
        "webhook",
        re.compile(
            r"webhook\.office\.com/(?P<secret>webhookb2/[\w@-]{20,120}/[\w/-]{20,160})"
        ),
    ),
    (
        "telegram-token",
        "bot",
        re.compile(r"(?<![A-Za-z])bot(?P<secret>\d{6,12}:[\w-]{30,40})"),
    ),
    (
        "sentry-dsn",
        "@",
        re.compile(
            r"://(?P<secret>[0-9a-f]{32}(?::[0-9a-f]{32})?)@[\w.-]{0,100}sentry"
        ),
    ),
    (
        "webhook",
        "hook",
        re.compile(
            r"(?:hooks\.zapier\.com/hooks/catch|hook\.[\w.]{0,20}make\.com|maker\.ifttt\.com/trigger/[\w-]{1,60}/with/key|chat\.googleapis\.com/v1/spaces/[\w-]{1,60}/messages)/(?P<secret>[\w/-]{16,160})"
        ),
    ),
    (
        "pagerduty-key",
        "pagerduty",
        re.compile(r"events\.pagerduty\.com/integration/(?P<secret>[0-9a-f]{32})"),
    ),
    (
        "slack-webhook",
        "outgoing",
        re.compile(r"outgoing\.slack\.com/(?P<secret>[\w/-]{20,160})"),
    ),
)


def find_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Find the secrets in URLs."""
    if "://" in text:
        yield from _find_passwords(text)
    if "@tcp(" in lowered or "@unix(" in lowered or "@udp(" in lowered:
        yield from (
            Span(*match.span("secret"), "url-password")
            for match in _DRIVER.finditer(text)
            if not placeholders.is_placeholder(match["secret"])
        )
    if "=" in text and ("?" in text or "&" in text or "%3" in text):
        yield from _find_parameters(text)
    for kind, hint, pattern in _WEBHOOKS:
        if hint in lowered:
            yield from (
                Span(*match.span("secret"), kind)
                for match in pattern.finditer(text)
                if not placeholders.is_placeholder(match["secret"].rpartition("/")[2])
            )


def _find_passwords(text: str) -> Iterator[Span]:
    for match in _USER.finditer(text):
        start, rest = match.end(), _REST.match(text, match.end())
        whole = rest[0] if rest else ""
        cut = _last_at(text, match, whole)
        if cut <= 0:
            continue
        value = whole[:cut]
        if not _is_hidden(value):
            yield Span(start, start + cut, "url-password")


def _last_at(text: str, match: re.Match[str], whole: str) -> int:
    """Return where the password ends, or -1: at the last @ that a host follows.

    An @ after a slash belongs to the password only if the part before the slash is no
    port, or if the scheme is of a database.
    """
    slash = _SLASH.search(whole)
    authority = slash.start() if slash else len(whole)
    near = whole.rfind("@", 0, authority)
    if near > 0 and not _NO_PORT.search(whole, near, authority):
        return near
    scheme = _SCHEME.search(text, max(match.start() - 31, 0), match.start())
    is_web = bool(scheme) and scheme[0].lower() in _WEB  # type: ignore[index]  # bool(scheme)
    if is_web and _PORT.match(whole):
        return -1
    far = whole.rfind("@")
    if far > 0 and _HOST.match(whole, far + 1):
        return far
    return -1


def _is_hidden(value: str) -> bool:
    """Return whether the password is a template, or the word `password` itself."""
    return placeholders.is_placeholder(value) or placeholders.is_reference(value)


def _find_parameters(text: str) -> Iterator[Span]:
    for match in _QUERY.finditer(text):
        name, value = match["name"].lower(), match["secret"]
        if kind := _kind_of_parameter(name, value):
            yield Span(*match.span("secret"), kind)


def _kind_of_parameter(name: str, value: str) -> str:
    if placeholders.is_placeholder(value) or placeholders.is_reference(value):
        return ""
    if name in _SIGNATURES:
        return "signature" if len(value) >= 16 and has_digit(value) else ""
    if name in ("key", "auth", "subscription-key"):
        return "api-key" if is_random(value, least=8) else ""
    if name in _CODES:
        return "code" if is_random(value, least=32) else ""
    kind = names.classify(name)
    if kind == "password":
        return kind if len(value) >= 3 and not placeholders.is_plain(value) else ""
    if kind in ("token", "api-key", "secret"):
        return (
            kind
            if values.is_secret(value, "password", "bare") and len(value) >= 6
            else ""
        )
    return "secret" if kind and is_random(value, least=12) else ""
