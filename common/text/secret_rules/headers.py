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
    r"\b(?:bearer|ssws|genie-?key|apikey)[ \t]{1,4}(?P<secret>[\w.~+/=\-]{12,8192})",
    re.IGNORECASE,
)
# A header of a name of its own in prose: `send X-Auth-Token abc`.
_OWN_HEADER = re.compile(
    r"\bx-(?:[a-z]{1,20}-){0,3}(?:key|token|secret)[\"'`]?[ \t]{1,4}(?:header[ \t]{1,4}|value[ \t]{1,4}|with[ \t]{1,4}|to[ \t]{1,4}){0,2}"
    r"[\"'`]?(?P<secret>[\w.~+/=\-]{12,8192})",
    re.IGNORECASE,
)
_BASIC = re.compile(
    r"\bbasic[ \t]{1,4}(?P<secret>[A-Za-z0-9+/]{8,4096}={0,2})(?![\w+/=])",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"(?:signature|response|credential|nonce|oauth_\w{1,20})=\"?(?P<secret>[\w+/=%.\-]{16,512})",
    re.IGNORECASE,
)
_COOKIE = re.compile(
    rf"(?<![\w])(?:set-)?cookies?{_QUOTE}[ \t]{{0,4}}(?::|=>|=|,)[ \t]{{0,4}}[fbru]{{0,2}}{_QUOTE}(?P<line>[^\n\r\"`<>]{{4,8192}})",
    re.IGNORECASE,
)
_CURL_COOKIE = re.compile(
    r"(?:\s-b|--cookie)[ =]{1,4}[\"']?(?P<line>[\w.\-]{1,64}=[^\n\r\"']{4,4096})"
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
_DIGEST = frozenset(["aws4-hmac-sha256", "digest", "oauth", "hawk", "signature"])


def find_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Find the secrets in headers."""
    if "authorization" in lowered:
        yield from _find_authorizations(text)
    if (
        "bearer" in lowered
        or "ssws" in lowered
        or "geniekey" in lowered
        or "apikey" in lowered
    ):
        yield from _find_words(_BEARER, text)
    if "x-" in lowered:
        yield from _find_words(_OWN_HEADER, text)
    if "basic " in lowered:
        yield from _find_basic(text)
    if "cookie" in lowered:
        yield from _find_cookies(_COOKIE, text)
        yield from _find_cookies(_CURL_COOKIE, text)
    elif "-b " in text:
        yield from _find_cookies(_CURL_COOKIE, text)


def _find_authorizations(text: str) -> Iterator[Span]:
    for match in _AUTHORIZATION.finditer(text):
        scheme = (match["scheme"] or "").strip().lower()
        if scheme in _DIGEST:
            yield from _find_words(_PARAMETER, text, match.start(), match.end() + 1024)
        elif _is_credential(match["secret"], scheme):
            yield Span(*match.span("secret"), "authorization")


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


def _find_words(
    pattern: re.Pattern[str], text: str, start: int = 0, end: int | None = None
) -> Iterator[Span]:
    for match in pattern.finditer(text, start, len(text) if end is None else end):
        if is_random(match["secret"], least=12) and not placeholders.is_placeholder(
            match["secret"]
        ):
            yield Span(*match.span("secret"), "authorization")


def _find_basic(text: str) -> Iterator[Span]:
    for match in _BASIC.finditer(text):
        value = match["secret"]
        mixed = value not in (value.lower(), value.capitalize(), value.upper())
        if mixed and len(value) % 4 == 0 and (has_digit(value) or "=" in value):
            yield Span(*match.span("secret"), "authorization")


def _find_cookies(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    for match in pattern.finditer(text):
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
