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
_WEB = re.compile(r"(?:https?|wss?|git|svn)\Z", re.IGNORECASE)
_QUERY = re.compile(
    r"(?:[?&;]|&amp;)(?P<name>[A-Za-z_][\w.\-\[\]]{0,60})=(?P<secret>[^\s&#\"'<>`;\\)]{1,2048})"
)
_SIGNATURES = frozenset(
    ["sig", "signature", "x-amz-signature", "x-goog-signature", "x-amz-security-token"]
)
_WEBHOOK = re.compile(
    r"(?P<slack>hooks\.slack(?:-gov)?\.com/(?=services|workflows|triggers))(?P<slack_secret>[\w+/-]{16,200})"
    r"|(?P<discord>discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/)(?P<discord_secret>\d{10,22}/[\w-]{20,120})"
    r"|webhook\.office\.com/(?P<webhook_secret>webhookb2/[\w@/-]{40,320})"
    r"|/bot(?P<telegram_secret>\d{6,12}:[\w-]{30,40})",
    re.IGNORECASE,
)
_WEBHOOK_KINDS = {
    "slack_secret": "slack-webhook",
    "discord_secret": "discord-webhook",
    "webhook_secret": "teams-webhook",
    "telegram_secret": "telegram-token",
}


def find_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Find the secrets in URLs."""
    if "://" in text:
        yield from _find_passwords(text)
    if "=" in text and ("?" in text or "&" in text):
        yield from _find_parameters(text)
    for match in _WEBHOOK.finditer(text):
        group = match.lastgroup or ""
        if not placeholders.is_placeholder(match[group].rpartition("/")[2]):
            yield Span(*match.span(group), _WEBHOOK_KINDS[group])


def _find_passwords(text: str) -> Iterator[Span]:
    for match in _USER.finditer(text):
        start, rest = match.end(), _REST.match(text, match.end())
        whole = rest[0] if rest else ""
        cut = _password_end(text, match.start(), whole)
        value = whole[: max(cut, 0)]
        if not (placeholders.is_placeholder(value) or placeholders.is_reference(value)):
            yield Span(start, start + cut, "url-password")


def _password_end(text: str, scheme_end: int, whole: str) -> int:
    """Return where the password ends, or -1: at the last @ before the path.

    An @ after a slash belongs to the password only if the part before the slash is no port.
    """
    slash = _SLASH.search(whole)
    authority = slash.start() if slash else len(whole)
    near = whole.rfind("@", 0, authority)
    if near > 0 and not _NO_PORT.search(whole, near, authority):
        return near
    is_web = _WEB.search(text, max(scheme_end - 5, 0), scheme_end)
    return -1 if is_web and _PORT.match(whole) else whole.rfind("@")


def _find_parameters(text: str) -> Iterator[Span]:
    for match in _QUERY.finditer(text):
        if kind := _kind_of_parameter(match["name"].lower(), match["secret"]):
            yield Span(*match.span("secret"), kind)


def _kind_of_parameter(name: str, value: str) -> str:
    if placeholders.is_placeholder(value) or placeholders.is_reference(value):
        return ""
    if name in _SIGNATURES:
        return "signature" if len(value) >= 16 and has_digit(value) else ""
    if name in ("key", "auth", "code"):
        least = 32 if name == "code" else 8
        return "api-key" if is_random(value, least=least) else ""
    kind = names.classify(name)
    if kind == "password":
        return kind if len(value) >= 3 and not placeholders.is_plain(value) else ""
    if kind in ("token", "api-key", "secret"):
        is_secret = len(value) >= 6 and values.is_secret(value, "password", "bare")
        return kind if is_secret else ""
    return "secret" if kind and is_random(value, least=12) else ""
