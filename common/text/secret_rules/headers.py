"""Find secrets in HTTP headers: Authorization, Cookie, Set-Cookie."""

from __future__ import annotations

import re
from collections.abc import Iterator

from common.text.secret_rules import names, placeholders, values
from common.text.secret_rules.spans import Span, has_digit, is_random

_QUOTE = r"\\{0,3}[\"'`]?"
_AUTHORIZATION = re.compile(
    rf"authorization{_QUOTE}\]?\s{{0,4}}(?:[:=,]|=>)\s{{0,4}}[fbru]{{0,2}}{_QUOTE}(?P<scheme>[a-z][a-z0-9-]{{0,30}}[ \t]{{1,4}})?"
    r"(?P<secret>[^\s\"'`\\,;<>{}()]{6,8192})",
    re.IGNORECASE,
)
_BEARER = re.compile(
    r"\bbearer[ \t]{1,4}(?P<secret>[\w.~+/=\-]{12,8192})",
    re.IGNORECASE,
)
_BASIC = re.compile(
    r"\bbasic[ \t]{1,4}(?P<secret>[A-Za-z0-9+/]{8,4096}={0,2})(?![\w+/=])",
    re.IGNORECASE,
)
_COOKIE = re.compile(
    rf"(?<![\w])(?:set-)?cookies?{_QUOTE}[ \t]{{0,4}}(?::|=>|=|,)[ \t]{{0,4}}[fbru]{{0,2}}{_QUOTE}(?P<line>[^\n\r\"`<>]{{4,8192}})",
    re.IGNORECASE,
)
_PAIR = re.compile(r"(?P<name>[\w.\-]{1,80})=(?P<secret>[^\s;,\"'\\]{6,4096})")
_ATTRIBUTES = frozenset(
    [
        "path",
        "domain",
        "expires",
        "max-age",
        "samesite",
        "version",
        "priority",
        "secure",
        "httponly",
    ]
)


def find_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Find the secrets in headers."""
    if "authorization" in lowered:
        for match in _AUTHORIZATION.finditer(text):
            scheme = (match["scheme"] or "").strip().lower()
            if _is_credential(match["secret"], scheme):
                yield Span(*match.span("secret"), "authorization")
    if "bearer" in lowered:
        for match in _BEARER.finditer(text):
            if _is_credential(match["secret"], ""):
                yield Span(*match.span("secret"), "authorization")
    if "basic " in lowered:
        yield from _find_basic(text)
    if "cookie" in lowered:
        yield from _find_cookies(text)


def _is_credential(value: str, scheme: str) -> bool:
    if placeholders.is_placeholder(value) or placeholders.is_reference(value):
        return False
    if scheme in (
        "bearer",
        "basic",
        "token",
        "ssws",
        "apikey",
        "key",
        "geniekey",
        "bot",
    ):
        return values.is_secret(value, "token", "bare") or is_random(value, least=8)
    return is_random(value, least=12)


def _find_basic(text: str) -> Iterator[Span]:
    for match in _BASIC.finditer(text):
        value = match["secret"]
        mixed = value not in (value.lower(), value.capitalize(), value.upper())
        if mixed and len(value) % 4 == 0 and (has_digit(value) or "=" in value):
            yield Span(*match.span("secret"), "authorization")


def _find_cookies(text: str) -> Iterator[Span]:
    for match in _COOKIE.finditer(text):
        for pair in _PAIR.finditer(text, *match.span("line")):
            name, value = pair["name"], pair["secret"]
            if name.lower() in _ATTRIBUTES or placeholders.is_placeholder(value):
                continue
            if is_cookie_secret(name, value):
                yield Span(*pair.span("secret"), "cookie")


def is_cookie_secret(name: str, value: str) -> bool:
    if placeholders.is_reference(value) or placeholders.is_plain(value):
        return False
    least = 6 if names.is_cookie_name(name) else 16
    return len(value) >= least and (
        is_random(value, least=least) or (least == 6 and has_digit(value))
    )
