"""Find secrets in text with patterns of detect-secrets and of this module, and mask them.

Only detect-secrets plugins with a distinctive prefix and bounded repeats are used. The
entropy plugins are left out because they take commits, digests and images for secrets.
The keyword, basic-auth, JWT, npm, OpenAI and private-key plugins are replaced by own
patterns: they return no whole values, or are quadratic on one long line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pkgutil import resolve_name


@dataclass(frozen=True)
class MaskedText:
    """`kinds` holds each kind of secret once, in order of appearance."""

    text: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Span:
    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class SecretRule:
    """A pattern that runs only if one of `hints` is in the lower-cased text.

    The secret is the group named `secret`, or else the whole match.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


# Plugins by name: importing them loads an HTTP client, 0.2 s for each process.
_PLUGINS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("aws-key", ("akia", "asia", "abia", "acca", "a3t", "aws"), "aws.AWSKeyDetector"),
    (
        "azure-storage-key",
        ("accountkey=",),
        "azure_storage_key.AzureStorageKeyDetector",
    ),
    ("discord-token", (".",), "discord.DiscordBotTokenDetector"),
    ("github-token", ("gh",), "github_token.GitHubTokenDetector"),
    ("gitlab-token", ("gl", "gr1348941"), "gitlab_token.GitLabTokenDetector"),
    ("mailchimp-key", ("-us",), "mailchimp.MailchimpDetector"),
    ("pypi-token", ("pypi-ag",), "pypi_token.PypiTokenDetector"),
    ("sendgrid-key", ("sg.",), "sendgrid.SendGridDetector"),
    ("slack-token", ("xox", "hooks.slack.com"), "slack.SlackDetector"),
    ("square-secret", ("sq0csp-",), "square_oauth.SquareOAuthDetector"),
    ("stripe-key", ("k_live_",), "stripe.StripeDetector"),
    ("telegram-token", (":",), "telegram_token.TelegramBotTokenDetector"),
    ("twilio-key", ("ac", "sk"), "twilio.TwilioKeyDetector"),
)

# A token is at the start of a word, or after the `\n` of text that was escaped twice.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_TOKENS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("anthropic-key", ("sk-ant-",), r"sk-ant-[\w-]{20,}"),
    ("openai-key", ("sk-",), r"sk-(?:proj|svcacct|admin|or)-[\w-]{20,}"),
    ("openai-key", ("sk-",), r"sk-[A-Za-z0-9]{32,}"),
    ("github-token", ("github_pat_",), r"github_pat_\w{22,}"),
    ("slack-token", ("xapp-", "xoxe"), r"(?:xapp-\d|xoxe(?:\.xox[bp])?)-[\w-]{16,}"),
    ("google-key", ("aiza",), r"AIza[\w-]{35}"),
    ("google-token", ("ya29.", "gocspx-"), r"(?:ya29\.|GOCSPX-)[\w-]{20,}"),
    ("stripe-key", ("k_test_", "k_live_"), r"[rs]k_(?:test|live)_[A-Za-z0-9]{10,}"),
    ("stripe-key", ("whsec_",), r"whsec_[A-Za-z0-9]{24,}"),
    ("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    ("pypi-token", ("pypi-",), r"pypi-[\w-]{50,}"),
    ("huggingface-token", ("hf_",), r"hf_[A-Za-z0-9]{30,}"),
    ("digitalocean-token", ("_v1_",), r"do[opr]_v1_[0-9a-f]{64}"),
    ("databricks-token", ("dapi",), r"dapi[0-9a-f]{32}"),
    ("shopify-token", ("shp",), r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}"),
    ("vault-token", ("hvs.", "hvb."), r"hv[sb]\.[\w-]{24,}"),
    ("artifactory-key", ("akcp",), r"AKCp[A-Za-z0-9]{60,}"),
    ("age-key", ("age-secret-key-",), r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("jwt", ("eyj",), r"(?<![_-])eyJ[\w-]{10,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?"),
    ("agent-memory-key", ("am_",), r"am_[\w-]{43}(?![\w-])"),
)

# Atomic groups: Python before 3.11.5 matches possessive repeats of groups wrongly.
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?>(?:[^-]|-(?!----))*)-----END [A-Z0-9 ]{0,50}-----"
    # For a key that is cut off, only the part that looks like a key's body is the secret.
    r"|(?>(?:\s|\\[rn]|[A-Za-z0-9+/=]{16,})*))"
)
_PUTTY = re.compile(r"Private-Lines: \d+(?P<secret>(?:\s+[A-Za-z0-9+/=]{16,})+)")
_URL_PASSWORD = re.compile(
    r"://[^\s/?#:@'\"<>\[\]]{0,256}:(?P<secret>[^\s/'\"<>\[\]]{1,256})@"
)
_NAME = (
    r"(?:(?P<password>password|passwd|passphrase|passwort|pwd)"
    r"|(?P<key>(?:api|access|auth|account|signing|encryption|service)[_.-]?key)"
    r"|(?P<token>token)|(?P<secret_name>secret(?:[_.-]?(?:access[_.-]?)?key)?))"
)
_ASSIGNMENT = re.compile(
    _NAME + r"\\?[\"'\]]{0,2}[ \t]{0,8}(?::=|=>|={1,3}|:)[ \t]{0,8}"
    r"(?:\\?(?P<quote>[\"'`])(?P<quoted>[^\s\"'`\\\[\]]{6,512})\\?(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;(){}\[\]<>&|\\]{6,512})(?![\w(\[]))",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"--(?:[a-z]{1,20}-)?" + _NAME + r"[ \t]{1,4}[\"']?"
    r"(?P<bare>[^\s\"'`,;(){}\[\]<>&|\\]{6,512})(?![\w(\[])",
    re.IGNORECASE,
)
_BEARER = re.compile(
    r"(?:authorization\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?[a-z]{0,16}|\bbearer)"
    r"[ \t]{1,4}(?P<bare>[\w.~+/=-]{12,4096})",
    re.IGNORECASE,
)
_CURL_USER = re.compile(
    r"(?:\s-u|--user)[ =][\"']?[\w.@-]{1,64}:(?P<bare>[^\s\"'`:\[\]]{6,256})"
)

_PASSWORD_KINDS = ("password", "key", "token", "secret_name")
_NAMES = {"key": "api-key", "secret_name": "secret"}
_PLACEHOLDER = re.compile(
    r"[$%<{*.:/~@\\-].*|.*(?:\*\*\*|\.\.\.|xxxx|…).*|(?:your|my|some|the|test|fake|dummy)[_-].*"
    r"|.*(?:change_?-?me|placeholder|redacted|example|password|secret|token).{0,3}",
    re.IGNORECASE,
)
# Words that stand in the place of a password but are not one: types, messages and settings.
_PLAIN_WORDS = frozenset(
    [
        "boolean",
        "string",
        "unicode",
        "optional",
        "required",
        "undefined",
        "disabled",
        "enabled",
        "incorrect",
        "invalid",
        "missing",
        "nullable",
        "plaintext",
        "encrypted",
        "hidden",
        "visible",
        "username",
    ]
)
_REFERENCE = re.compile(r"[A-Za-z_$@][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+[.:]?")
_WORD_CHARACTERS = re.compile(r"[\w-]*")


@cache
def _rules() -> tuple[SecretRule, ...]:
    plugins = (
        SecretRule(kind, hints, pattern)
        for kind, hints, name in _PLUGINS
        for pattern in resolve_name(f"detect_secrets.plugins.{name}")().denylist
    )
    tokens = (
        SecretRule(kind, hints, re.compile(_START + pattern))
        for kind, hints, pattern in _TOKENS
    )
    return (
        SecretRule("private-key", ("private key",), _PEM),
        SecretRule("private-key", ("private-lines",), _PUTTY),
        *tokens,
        *plugins,
        SecretRule("url-password", ("://",), _URL_PASSWORD),
    )


@cache
def _ranks() -> dict[str, int]:
    named_kinds = ("authorization", "password", "api-key", "secret", "token")
    kinds = dict.fromkeys([*(rule.kind for rule in _rules()), *named_kinds])
    return {kind: rank for rank, kind in enumerate(kinds)}


# Kinds of secrets without a prefix. A match inside a longer word is a coincidence.
_WEAK = frozenset({"discord-token", "telegram-token", "twilio-key", "mailchimp-key"})
_NAMED_PATTERNS = (
    (("bearer", "authorization"), _BEARER),
    (("pass", "pwd", "key", "token", "secret"), _ASSIGNMENT),
    (("--",), _OPTION),
    (("-u", "--user"), _CURL_USER),
)


def mask(text: str) -> MaskedText:
    """Replace each secret by `[secret:<kind>]`; a second call changes nothing."""
    kinds: dict[str, None] = {}
    while spans := _merge_spans(text):
        kinds.update(dict.fromkeys(span.kind for span in spans))
        text = _replace_spans(text, spans)
    return MaskedText(text=text, kinds=tuple(kinds))


def _find_spans(text: str) -> Iterator[Span]:
    if not text:
        return
    lowered = text.lower()
    for rule in _rules():
        if any(hint in lowered for hint in rule.hints):
            yield from _match_rule(rule, text)
    for hints, pattern in _NAMED_PATTERNS:
        if any(hint in lowered for hint in hints):
            yield from _match_named(pattern, text)


def _match_rule(rule: SecretRule, text: str) -> Iterator[Span]:
    for match in rule.pattern.finditer(text):
        start, end = match.span(_secret_group(match))
        if rule.kind == "url-password" and _is_template(match["secret"]):
            continue
        if rule.kind in _WEAK and not _is_whole_token(text, start, match[0]):
            continue
        yield Span(start, end, rule.kind)


def _secret_group(match: re.Match[str]) -> int | str:
    if "secret" in match.re.groupindex:
        return "secret"
    # The AWS pattern has the secret in its only group; other patterns group a prefix.
    return 1 if match.re.groups == 1 and len(match[1] or "") >= 32 else 0


def _match_named(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    for match in pattern.finditer(text):
        groups = match.groupdict()
        name = next((name for name in _PASSWORD_KINDS if groups.get(name)), None)
        group = "quoted" if groups.get("quoted") else "bare"
        value = match[group]
        if _looks_real(value, quoted=group == "quoted", is_password=name == "password"):
            kind = _NAMES.get(name, name) if name else "authorization"
            yield Span(match.start(group), match.end(group), kind)


def _looks_real(value: str, *, quoted: bool, is_password: bool) -> bool:
    if _PLACEHOLDER.fullmatch(value) or "://" in value:
        return False
    has_digit = any(character.isdigit() for character in value)
    has_letter = any(character.isalpha() for character in value)
    if not quoted and _REFERENCE.fullmatch(value):
        return False
    if is_password and (quoted or has_digit):
        return has_digit or (len(value) >= 8 and value.lower() not in _PLAIN_WORDS)
    return has_digit and has_letter and len(value) >= 8


def _is_template(value: str) -> bool:
    return value[0] in "$%{*<" or set(value) <= set("*x.X…")


def _is_whole_token(text: str, start: int, value: str) -> bool:
    inside_word = start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_.+/")
    after_escape = text[max(start - 2, 0) : start] in ("\\n", "\\r", "\\t")
    has_digit = any(character.isdigit() for character in value)
    return has_digit and (after_escape or not inside_word)


def _merge_spans(text: str) -> list[Span]:
    """Merge overlapping spans; the merged span has the more specific kind."""
    merged: list[Span] = []
    for span in sorted(_find_spans(text), key=lambda span: (span.start, span.end)):
        last = merged[-1] if merged else Span(0, 0, span.kind)
        if span.start >= last.end:
            merged.append(replace(span, end=_word_end(text, span.end)))
        elif span.end > last.end or _ranks()[span.kind] < _ranks()[last.kind]:
            kind = min(last.kind, span.kind, key=_ranks().__getitem__)
            end = max(last.end, _word_end(text, span.end, minimum=last.end))
            merged[-1] = Span(last.start, end, kind)
    return merged


def _word_end(text: str, end: int, *, minimum: int = 0) -> int:
    """Extend a span to the end of its word, because newer keys are longer than the pattern."""
    if end <= minimum or not text[end - 1].isalnum():
        return end
    match = _WORD_CHARACTERS.match(text, end)
    return match.end() if match else end


def _replace_spans(text: str, spans: list[Span]) -> str:
    pieces: list[str] = []
    end = 0
    for span in spans:
        pieces += [text[end : span.start], f"[secret:{span.kind}]"]
        end = span.end
    return "".join([*pieces, text[end:]])
