"""Find tokens by patterns of our own and by plugins of detect-secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pkgutil import resolve_name

from common.text.secret_rules import placeholders
from common.text.secret_rules.spans import Span, entropy, has_digit, is_random
from common.text.secret_rules.token_prefixes import START

# Plugins by name: importing them loads an HTTP client, 0.2 s for each process.
_PLUGINS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("aws-key", ("akia", "asia", "abia", "acca", "a3t"), "aws.AWSKeyDetector"),
    (
        "azure-storage-key",
        ("accountkey=",),
        "azure_storage_key.AzureStorageKeyDetector",
    ),
    ("discord-token", (".",), "discord.DiscordBotTokenDetector"),
    ("mailchimp-key", ("-us",), "mailchimp.MailchimpDetector"),
    ("telegram-token", (":",), "telegram_token.TelegramBotTokenDetector"),
    ("twilio-key", ("ac", "sk"), "twilio.TwilioKeyDetector"),
)
# Kinds of secrets without a prefix. A match inside a longer word is a coincidence.
_WEAK = frozenset({"discord-token", "telegram-token", "twilio-key", "mailchimp-key"})
_OWN: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("jwt", ("eyj",), START + r"(?<![_-])eyJ[\w-]{10,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?"),
    (
        "jwt",
        ("eyj",),
        START + r"(?<![_-])eyJ[\w-]{10,}(?:\.[\w-]{0,2048}){4}",
    ),  # encrypted
    ("azure-secret", ("q~",), r"(?<![\w~.-])[\w~.]{3}\dQ~[\w~.-]{28,40}(?![\w~])"),
    ("azure-key", ("jqqj99",), START + r"[A-Za-z0-9]{50,54}JQQJ99[A-Za-z0-9]{20,40}"),
    (
        "terraform-token",
        (".atlasv1.",),
        START + r"[A-Za-z0-9]{10,20}\.atlasv1\.[\w-]{30,100}",
    ),
    ("asana-token", (":",), r"(?<![\w/])[0-2]/\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}"),
    ("airtable-token", ("pat",), START + r"pat[A-Za-z0-9]{14}\.[0-9a-f]{40,64}"),
    ("new-relic-key", ("nral",), START + r"[0-9a-fA-F]{30,40}NRAL"),
    ("firebase-key", ("aaaa",), START + r"AAAA[\w-]{7}:[\w-]{100,180}"),
    ("mailgun-key", ("key-",), START + r"(?:pub)?key-[0-9a-f]{32}(?![0-9a-f])"),
    (
        "mailgun-key",
        ("-",),
        r"(?<![0-9a-zA-Z-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9a-zA-Z-])",
    ),
    (
        "vault-token",
        ("s.",),
        START + r"(?<![\w.-])s\.(?=[A-Za-z]*\d)[A-Za-z0-9]{24}(?![\w.])",
    ),
    ("square-secret", ("eaaa",), START + r"EAAA[\w-]{40,80}"),
    ("facebook-token", ("eaa",), START + r"EAA[A-Za-z][A-Za-z0-9]{60,400}"),
    ("dropbox-token", ("sl.",), START + r"(?<!\.)sl\.[\w-]{60,1200}"),
    (
        "braintree-token",
        ("access_token$",),
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{10,20}\$[0-9a-f]{32}",
    ),
    # Tokens of providers that are not listed: a word such as `sk`, then drawn characters.
    (
        "token",
        ("sk", "key", "tok", "pat", "secret", "live", "prod", "auth"),
        r"(?<![\w.-])(?:[a-z0-9]{1,12}[_-]){0,3}(?:sk|rk|key|apikey|token|tok|secret|sec|pat|auth|oauth|live|prod)(?:[_-](?:live|test|prod|dev|v\d)){0,2}[_-](?P<secret>[A-Za-z0-9]{24,200})(?![\w-])",
    ),
)
# Patterns that reach over spaces.
_WIDE: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "aws-secret",
        ("aws", "amazon"),
        r"(?i:aws|amazon)[^\n]{0,40}?[\"'`:= ](?P<secret>(?=[A-Za-z/+]*[0-9])(?=[0-9A-Z/+]*[a-z])(?=[0-9a-z/+]*[A-Z])[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    (
        "aws-secret",
        ("akia", "asia"),
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b[\W_]{1,40}(?:\w{1,24}[\W_]{1,12}){0,4}(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    (
        "azure-connection",
        ("sharedaccess", "accountkey"),
        r"(?:SharedAccessKey|SharedAccessSignature|AccountKey)\s{0,2}=\s{0,2}(?P<secret>[^\s;\"'<>]{16,512})",
    ),
    ("fly-token", ("flyv1",), r"FlyV1 (?P<secret>f[mo]\w{1,3}_[\w+/=,-]{30,4096})"),
    ("fly-token", ("flyv1",), r"FlyV1 (?P<secret>[\w+/=,-]{100,4096})"),
    (
        "salesforce-token",
        ("00d",),
        START + r"00D[A-Za-z0-9]{12}(?:[A-Za-z0-9]{3})?![\w.]{60,260}",
    ),
    # One key in twenty-five has no digit.
    (
        "aws-key",
        ("akia", "asia", "abia", "acca"),
        START + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])",
    ),
    (
        "pagerduty-key",
        ("pagerduty",),
        r"(?i:pagerduty)[\w \t.\-\"']{0,30}[=:][ \t\"']{0,4}(?P<secret>[A-Za-z0-9+_-]{20})(?![\w+-])",
    ),
)

Pattern = tuple[str, tuple[str, ...], re.Pattern[str]]


def _compile(rows: tuple[tuple[str, tuple[str, ...], str], ...]) -> tuple[Pattern, ...]:
    return tuple(
        (kind, hints, re.compile(pattern, re.ASCII)) for kind, hints, pattern in rows
    )


@cache
def _patterns() -> tuple[Pattern, ...]:
    plugins = tuple(
        (kind, hints, pattern)
        for kind, hints, name in _PLUGINS
        for pattern in resolve_name(f"detect_secrets.plugins.{name}")().denylist
    )
    return _compile(_OWN) + plugins


@cache
def _wide_patterns() -> tuple[Pattern, ...]:
    return _compile(_WIDE)


def find_tokens(text: str, lowered: str, start: int, end: int) -> Iterator[Span]:
    """Find tokens in a run of characters; a pattern needs one of its hints in the run."""
    run = lowered[start:end]
    for kind, hints, pattern in _patterns():
        for hint in hints:
            if hint in run:
                yield from _match(kind, pattern, text, start, end)
                break


def find_wide_tokens(text: str, lowered: str) -> Iterator[Span]:
    """Find the tokens whose kind is told by the words before."""
    for kind, hints, pattern in _wide_patterns():
        for hint in hints:
            if hint in lowered:
                yield from _match(kind, pattern, text, 0, len(text))
                break


def _match(
    kind: str, pattern: re.Pattern[str], text: str, start: int, end: int
) -> Iterator[Span]:
    for match in pattern.finditer(text, start, end):
        group = _secret_group(match)
        if kind in _WEAK and not _is_whole_token(text, match.start(group), match[0]):
            continue
        if _is_secret(kind, match[group]):
            yield Span(*match.span(group), kind)


def _secret_group(match: re.Match[str]) -> int | str:
    if "secret" in match.re.groupindex:
        return "secret"
    # The AWS pattern has the secret in its only group; other patterns group a prefix.
    return 1 if match.re.groups == 1 and len(match[1] or "") >= 32 else 0


def _is_secret(kind: str, value: str) -> bool:
    if placeholders.is_placeholder(value):
        return False
    if kind == "token":
        return is_random(value, least=24) and value not in (
            value.lower(),
            value.upper(),
        )
    if kind == "aws-key":
        return entropy(value) > 3
    return kind not in ("pagerduty-key", "fly-token") or is_random(value)


def _is_whole_token(text: str, start: int, value: str) -> bool:
    inside_word = start > 0 and (
        text[start - 1].isalnum() or text[start - 1] in "_.+/-"
    )
    after_escape = text[max(start - 2, 0) : start] in ("\\n", "\\r", "\\t")
    return has_digit(value) and (after_escape or not inside_word)
