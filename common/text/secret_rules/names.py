"""Tell by its name whether a value is a secret: `dbPassword`, `X-Api-Key`, not `max_tokens`."""

from __future__ import annotations

import re
from functools import lru_cache

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z\u00e0-\u00ff]+|\d+")

_PASSWORDS = frozenset(
    [
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "passwort",
        "kennwort",
        "pwd",
        "pass",
        "passw",
        "passwrd",
        "psw",
        "pswd",
        "pw",
        "contrasena",
        "contraseña",
        "senha",
        "motdepasse",
        "userpass",
        "userpwd",
    ]
)
# A password that is glued to other words: PGPASSWORD, mysqlpwd, dbpass.
_GLUED = re.compile(
    r".*(?:(?P<password>password|passwd|passphrase|passwort|kennwort|pwd|(?:db|user|my|ftp|sql|root|admin|smtp|mail)pass)"
    r"|(?P<secret>secret|(?:api|auth|private|access|secret|account|master|encryption|signing|shared)key)"
    r"|(?P<token>(?:auth|access|refresh|api|bearer|session|id|bot|oauth|csrf|xsrf)token))"
)
# What a name may end with, without a change of its meaning.
_SUFFIXES = frozenset(
    [
        "value",
        "val",
        "text",
        "string",
        "str",
        "plain",
        "plaintext",
        "raw",
        "prod",
        "production",
        "dev",
        "development",
        "test",
        "testing",
        "staging",
        "stage",
        "live",
        "current",
        "new",
        "old",
        "previous",
        "prev",
        "default",
        "backup",
        "primary",
        "secondary",
        "b64",
        "base64",
        "encoded",
        "env",
        "var",
        "in",
        "out",
        "input",
        "confirm",
        "confirmation",
        "again",
        "repeat",
    ]
)
_CREDENTIALS = frozenset(["credential", "credentials", "creds"])
_AUTHORIZATION = frozenset(["authorization", "authorisation", "bearer"])
_COOKIES = frozenset(["cookie", "cookies"])
# A key of one of these kinds is always a secret.
_KEYS = frozenset(
    [
        "api",
        "secret",
        "private",
        "access",
        "auth",
        "account",
        "encryption",
        "decryption",
        "signing",
        "master",
        "service",
        "shared",
        "client",
        "session",
        "hmac",
        "fernet",
        "aes",
        "jwt",
        "ssh",
        "ssl",
        "tls",
        "deploy",
        "webhook",
        "license",
        "subscription",
        "admin",
        "functions",
        "function",
        "app",
        "application",
        "consumer",
        "storage",
        "crypto",
        "cipher",
        "security",
        "authentication",
        "server",
        "sas",
        "root",
    ]
)
# A key of one of these kinds never is.
_PUBLIC_KEYS = frozenset(
    [
        "primary",
        "foreign",
        "public",
        "pub",
        "cache",
        "partition",
        "sort",
        "range",
        "hash",
        "idempotency",
        "idempotent",
        "dedup",
        "object",
        "s3",
        "translation",
        "i18n",
        "group",
        "row",
        "unique",
        "natural",
        "index",
        "routing",
        "message",
        "registry",
        "query",
        "map",
        "lookup",
        "dict",
        "file",
        "project",
        "issue",
        "widget",
        "feature",
        "config",
        "bucket",
        "host",
        "column",
        "surrogate",
        "shard",
        "composite",
        "candidate",
        "entity",
        "record",
        "item",
        "entry",
        "lock",
        "job",
        "task",
        "label",
        "locale",
        "metric",
        "event",
        "shortcut",
        "hot",
        "arrow",
        "enter",
        "escape",
        "tab",
        "any",
        "arbitrary",
        "each",
        "every",
        "this",
        "that",
        "the",
        "your",
        "my",
        "same",
        "missing",
        "extra",
        "unknown",
        "valid",
        "invalid",
        "duplicate",
        "json",
        "dictionary",
        "attribute",
        "field",
        "property",
        "prop",
        "setting",
        "parent",
        "child",
        "node",
        "left",
        "right",
        "next",
        "previous",
        "last",
        "first",
        "error",
        "state",
        "data",
        "storage_object",
        "redis",
        "memcached",
        "rate",
        "limit",
        "concurrency",
        "queue",
        "topic",
        "search",
        "filter",
        "facet",
    ]
)
# A token after one of these words is a piece of text, or the place in a list.
_PLAIN_TOKENS = frozenset(
    [
        "page",
        "next",
        "previous",
        "prev",
        "continuation",
        "cursor",
        "eos",
        "bos",
        "pad",
        "unk",
        "mask",
        "stop",
        "special",
        "cls",
        "sep",
        "start",
        "end",
        "sync",
        "resume",
        "position",
        "word",
        "sub",
        "first",
        "last",
        "input",
        "output",
        "current_lexer",
        "lexer",
        "parser",
        "text",
        "separator",
        "whitespace",
        "newline",
        "keyword",
        "punctuation",
        "operator",
        "comment",
        "syntax",
        "ast",
        "stream",
        "paging",
        "pagination",
        "continuationtoken",
        "begin",
        "delimiter",
        "per",
        "each",
        "any",
        "every",
        "no",
        "other",
        "single",
    ]
)
_NEGATIONS = frozenset(
    [
        "is",
        "has",
        "use",
        "uses",
        "no",
        "not",
        "require",
        "requires",
        "required",
        "need",
        "needs",
        "with",
        "without",
        "enable",
        "enabled",
        "disable",
        "disabled",
        "hide",
        "show",
        "allow",
        "forgot",
        "forgotten",
        "lost",
        "max",
        "min",
        "num",
        "number",
        "count",
        "total",
        "n",
        "skip",
        "include",
        "exclude",
        "missing",
        "invalid",
        "supports",
        "validate",
        "check",
    ]
)


@lru_cache(maxsize=8192)
def classify(name: str) -> str:
    """Return the kind of secret that a value with this name is, or an empty string.

    The kinds are password, secret, api-key, token, credential, authorization, cookie and
    `key`: a key that is a secret only if its value looks random.
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and (words[-1].isdigit() or words[-1] in _SUFFIXES):
        words.pop()
    if not words or words[0] in _NEGATIONS:
        return ""
    return _kind_of_words(words)


def _kind_of_words(words: list[str]) -> str:
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _PASSWORDS or (last == "word" and before == "pass"):
        return "" if last == "pass" and before in _PLAIN_PASSES else "password"
    if last in ("phrase", "code") and before in ("pass", "secret", "recovery"):
        return "password"
    if last == "codes" and before in ("recovery", "backup"):
        return "password"
    if last in ("secret", "secrets", "salt") and before not in _PLAIN_SECRETS:
        return "secret" if last != "salt" else "key"
    if last == "id" and before == "secret":
        return "key"
    if last == "token" and before not in _PLAIN_TOKENS:
        return "token"
    if last in (
        "jwt",
        "pat",
        "apitoken",
        "authtoken",
        "sessionid",
        "sessid",
        "sid",
    ) or (last == "id" and before in ("sess",)):
        return "key"
    if last == "key":
        return _kind_of_key(words[:-1])
    if last == "keys" and before in ("api", "secret", "private", "access"):
        return "api-key"
    if last in ("pin", "otp", "cvv"):
        return "pin"
    if last == "passwords":
        return "password"
    if last == "data" and words[-3:-1] == ["client", "key"]:
        return "secret"
    if last in _CREDENTIALS:
        return "credential"
    if last in _AUTHORIZATION or (
        last == "auth" and before in ("", "proxy", "basic", "http")
    ):
        return "authorization"
    if last in _COOKIES:
        return "cookie"
    if last == "string" and before in ("connection", "conn"):
        return "connection-string"
    return _kind_of_glued_word(last)


_PLAIN_PASSES = frozenset(
    [
        "first",
        "second",
        "one",
        "two",
        "single",
        "low",
        "high",
        "band",
        "dry",
        "by",
        "test",
        "final",
        "ci",
        "build",
    ]
)
_PLAIN_SECRETS = frozenset(["kubernetes", "k8s", "image", "pull", "docker", "no"])


def _kind_of_key(words: list[str]) -> str:
    if not words:
        return ""
    if "secret" in words[-2:]:
        return "secret"
    if words[-1] in _KEYS or (words[-1] == "shared" and "pre" in words):
        return "api-key"
    return "" if words[-1] in _PUBLIC_KEYS else "key"


def _kind_of_glued_word(word: str) -> str:
    if match := _GLUED.fullmatch(word):
        return {"password": "password", "secret": "secret", "token": "token"}[
            match.lastgroup or ""
        ]
    return ""


@lru_cache(maxsize=2048)
def is_cookie_name(name: str) -> bool:
    """Return whether a cookie of this name is a login."""
    return bool(_LOGIN_COOKIE.search(name))


_LOGIN_COOKIE = re.compile(
    r"sess|sid\b|sid$|auth|token|jwt|login|remember|csrf|xsrf|secret|user|id$|connect",
    re.IGNORECASE,
)
