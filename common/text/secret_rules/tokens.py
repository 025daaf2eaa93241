"""Find tokens and keys by their form: a provider's prefix, a pattern, a PEM block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from common.text.secret_rules import placeholders
from common.text.secret_rules.spans import Span, has_digit, is_random, is_slug
from common.text.text_tables import read_lines

# A token is at the start of a word, after the `\n` of text that was escaped, or after `%3D`.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
# A token without a prefix inside a longer word is a coincidence.
_OUTSIDE = r"(?:(?<![\w.+/-])|(?<=\\[nrt]))"
# Letters only: a token so long and without a digit is still no word.
LONG = 30
# The name of a file that has a hash in it.
_FILE = re.compile(r"\.(?:png|jpe?g|gif|svg|ico|webp|css|js|map|woff2?)\Z")

# Atomic groups: Python before 3.11.5 matches possessive repeats of groups wrongly.
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?>(?:[^-]|-(?!----))*)-----END [A-Z0-9 ]{0,50}-----"
    # For a key that is cut off, only the part that looks like a key's body is the secret.
    r"|(?>(?:\s|\\[rn]|[A-Za-z0-9+/=]{16,})*))"
)
# Kinds whose form is that of other words too: the part `secret` must look drawn.
_WEAK = frozenset({"token", "pagerduty-key"})
# A pattern runs only if one of its hints, split by blanks, is in the text in lower case.
_PATTERNS = tuple(
    (kind, tuple(hints.split()), re.compile(pattern, re.ASCII))
    for kind, hints, pattern in (
        (
            "jwt",
            "eyj",
            rf"{_START}(?<![_-])eyJ[\w-]{{10,}}\.(?:eyJ[\w-]{{8,}}(?:\.[\w-]*)?|[\w-]{{0,2048}}(?:\.[\w-]{{0,2048}}){{3}})",
        ),
        (
            "aws-key",
            "akia asia abia acca",
            rf"{_START}(?:AKIA|ASIA|ABIA|ACCA)(?!EXAMPLE)[A-Z0-9]{{16}}(?![A-Za-z0-9])",
        ),
        (
            "aws-secret",
            "aws amazon",
            r"(?i:aws|amazon)[^\n]{0,40}?[\"'`:= ](?P<secret>(?=[A-Za-z/+]*[0-9])(?=[0-9A-Z/+]*[a-z])(?=[0-9a-z/+]*[A-Z])[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        ),
        (
            "azure-connection",
            "sharedaccess accountkey",
            r"(?:SharedAccessKey|SharedAccessSignature|AccountKey)\s{0,2}=\s{0,2}(?P<secret>[^\s;\"'<>]{16,512})",
        ),
        ("azure-secret", "q~", r"(?<![\w~.-])[\w~.]{3}\dQ~[\w~.-]{28,40}(?![\w~])"),
        (
            "terraform-token",
            ".atlasv1.",
            _START + r"[A-Za-z0-9]{10,20}\.atlasv1\.[\w-]{30,100}",
        ),
        ("airtable-token", "pat", _START + r"pat[A-Za-z0-9]{14}\.[0-9a-f]{40,64}"),
        ("asana-token", ":", r"(?<![\w/])[0-2]/\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}"),
        ("firebase-key", "aaaa", _START + r"AAAA[\w-]{7}:[\w-]{100,180}"),
        ("mailgun-key", "key-", _START + r"(?:pub)?key-[0-9a-f]{32}(?![0-9a-f])"),
        ("mailchimp-key", "-us", r"(?<!\w)[0-9a-f]{32}-us[0-9]{1,2}(?!\w)"),
        (
            "discord-token",
            ".",
            _OUTSIDE + r"[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])",
        ),
        ("telegram-token", ":aa", _OUTSIDE + r"\d{8,10}:AA[\w-]{33,34}(?![\w-])"),
        ("twilio-key", "ac sk", _OUTSIDE + r"(?:AC|SK)[0-9a-f]{32}(?![\w-])"),
        (
            "vault-token",
            "s.",
            _START + r"(?<![\w.-])s\.(?=[A-Za-z]*\d)[A-Za-z0-9]{24}(?![\w.])",
        ),
        ("facebook-token", "eaa", _START + r"EAA[A-Z][\w-]{40,400}"),
        ("dropbox-token", "sl.", _START + r"(?<!\.)sl\.[\w-]{60,1200}"),
        ("fly-token", "flyv1", r"FlyV1 (?P<secret>[\w+/=,-]{30,4096})"),
        (
            "salesforce-token",
            "00d",
            _START + r"00D[A-Za-z0-9]{12}(?:[A-Za-z0-9]{3})?![\w.]{60,260}",
        ),
        (
            "pagerduty-key",
            "pagerduty",
            r"(?i:pagerduty)[\w \t.\-\"']{0,30}[=:][ \t\"']{0,4}(?P<secret>[A-Za-z0-9+_-]{20})(?![\w+-])",
        ),
        # The passwords of Docker and npm in their files.
        (
            "authorization",
            '"auth',
            r"\\?\"auth\\?\"\s{0,4}:\s{0,4}\\?\"(?P<secret>[A-Za-z0-9+/]{8,1024}={0,2})\\?\"",
        ),
        (
            "npm-token",
            "_auth _password",
            r"(?:(?<=[:\s])|^)_(?:auth|authToken|password)[ \t]{0,2}=[ \t]{0,2}\"?(?P<secret>[^\s\"'$]{8,1024})",
        ),
        # Tokens of providers that are not listed: a word such as `sk`, then drawn characters.
        (
            "token",
            "sk key tok pat secret live prod auth",
            r"(?<![\w.-])(?:[a-z0-9]{1,12}[_-]){0,3}(?:sk|rk|key|apikey|token|tok|secret|sec|pat|auth|oauth|live|prod)(?:[_-](?:live|test|prod|dev|v\d)){0,2}[_-](?P<secret>[A-Za-z0-9]{24,200})(?![\w-])",
        ),
    )
)


def find_keys(text: str, lowered: str) -> Iterator[Span]:
    """Find private keys in PEM."""
    if "private key" in lowered:
        for match in _PEM.finditer(text):
            yield Span(*match.span(), "private-key")


def find_by_prefix(text: str, lowered: str) -> Iterator[Span]:
    """Find tokens by the prefixes of `token_prefixes.txt`, however long they are."""
    for match in _prefixes().finditer(text):
        tail = match["tail"].rstrip("./")
        for kind, least in _kinds_of(match["prefix"]):
            if len(tail) >= least and _is_drawn(tail):
                yield Span(match.start(), match.start("tail") + len(tail), kind)
                break


def find_by_pattern(text: str, lowered: str) -> Iterator[Span]:
    for kind, hints, pattern in _PATTERNS:
        if not any(hint in lowered for hint in hints):
            continue
        for match in pattern.finditer(text):
            group = "secret" if "secret" in pattern.groupindex else 0
            if _is_token(kind, match[group]):
                yield Span(*match.span(group), kind)


def _is_token(kind: str, value: str) -> bool:
    if placeholders.is_placeholder(value) or not has_digit(value):
        return kind == "aws-key" and not placeholders.is_placeholder(value)
    if kind == "token":
        return is_random(value, least=24) and not (value.islower() or value.isupper())
    return kind not in _WEAK or is_random(value)


@cache
def _table() -> dict[str, tuple[str, int]]:
    path = Path(__file__).with_name("token_prefixes.txt")
    rows = [line.split() for line in read_lines(path) if not line.startswith("#")]
    return {prefix: (kind, int(least)) for kind, prefix, least in rows}


@cache
def _prefixes() -> re.Pattern[str]:
    longest_first = sorted(_table(), key=len, reverse=True)
    choices = "|".join(map(re.escape, longest_first))
    return re.compile(rf"{_START}(?P<prefix>{choices})(?P<tail>[\w\-+/=.]+)", re.ASCII)


@cache
def _kinds_of(prefix: str) -> tuple[tuple[str, int], ...]:
    """Return the kinds of a prefix and of the shorter prefixes that begin it."""
    found = [p for p in _table() if prefix.startswith(p)]
    return tuple(_table()[p] for p in sorted(found, key=len, reverse=True))


def _is_drawn(tail: str) -> bool:
    if placeholders.is_placeholder(tail) or is_slug(tail) or _FILE.search(tail):
        return False
    return has_digit(tail) or (
        len(tail) >= LONG and tail not in (tail.lower(), tail.upper())
    )
