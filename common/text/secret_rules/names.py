"""Tell by its name whether a value is a secret: `dbPassword`, `X-Api-Key`, not `max_tokens`."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

from common.text.text_tables import read_groups

# The words of names, in groups. `suffixes` may end a name without a change of its meaning. A
# key whose kind is one of `keys` is always a secret; one of `public_keys` never is. A token
# after one of `plain_tokens` is a piece of text, or a place in a list. A field whose name ends
# with one of `pair_names` names what the field beside it, one of `pair_values`, has.
_GROUPS = read_groups(Path(__file__).with_name("names.txt"))
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z\u00e0-\u00ff]+|\d+")

# A password that is glued to other words: PGPASSWORD, mysqlpwd, dbpass.
_GLUED = re.compile(
    r".*(?:(?P<password>password|passwd|passphrase|passwort|kennwort|pwd|(?:db|user|my|ftp|sql|root|admin|smtp|mail|ssh|pg|svn|vnc|ldap|redis|store|auth|proxy)pass)"
    r"|(?P<secret>secret|(?:api|auth|private|access|secret|account|master|encryption|signing|shared)key)"
    r"|(?P<token>(?:auth|access|refresh|api|bearer|session|id|bot|oauth|csrf|xsrf)token))"
)


@lru_cache(maxsize=8192)
def classify(name: str) -> str:
    """Return the kind of secret that a value with this name is, or an empty string.

    The kinds are password, secret, api-key, token, credential, authorization, cookie and
    `key`: a key that is a secret only if its value looks random.
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and (words[-1].isdigit() or words[-1] in _GROUPS["suffixes"]):
        words.pop()
    if not words or words[0] in _GROUPS["negations"]:
        return ""
    return _kind_of_words(words)


@lru_cache(maxsize=8192)
def name_of_inner(outer: str, own: str) -> str:
    """Return the name by which to judge a field in an object or list named `outer`.

    `own` is the name of the field, or empty for an item of a list. The field `value` in
    `password` is a password, the field `key` in `api` an API key. A field of `secrets`, or
    an item of `tokens`, can be any text, and is judged as a key: by its look.
    """
    if own and classify(own):
        return own
    if own in _GROUPS["pair_values"]:
        return outer
    # The key of anything else, such as a scope, is a name.
    if classify(f"{outer}_{own}") not in ("", "key"):
        return f"{outer}_{own}"
    is_plural = outer[-1:] in ("s", "S") and bool(
        classify(outer) or classify(outer[:-1])
    )
    return f"{own or 'opaque'}_key" if is_plural else own


@lru_cache(maxsize=8192)
def part_of_pair(name: str) -> Literal["name", "value", ""]:
    """Return which field of a pair a name is, as in `ParameterKey` and `ParameterValue`."""
    *first, last = [word.lower() for word in _WORDS.findall(name)] or [""]
    if len(first) > 1 or not _GROUPS["pair_prefixes"].issuperset(first):
        return ""
    if last in _GROUPS["pair_names"]:
        return "name"
    return "value" if last in _GROUPS["pair_values"] else ""


def _kind_of_words(words: list[str]) -> str:
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _GROUPS["passwords"] or (last == "word" and before == "pass"):
        return (
            "" if last == "pass" and before in _GROUPS["plain_passes"] else "password"
        )
    if last in ("phrase", "code") and before in ("pass", "secret", "recovery"):
        return "password"
    if last == "codes" and before in ("recovery", "backup"):
        return "password"
    if last in ("secret", "secrets", "salt") and before not in _GROUPS["plain_secrets"]:
        return "secret" if last != "salt" else "key"
    if last == "id" and before == "secret":
        return "key"
    if last == "token" and before not in _GROUPS["plain_tokens"]:
        return "token"
    if last in (
        "jwt",
        "pat",
        "apitoken",
        "authtoken",
        "sessionid",
        "phpsessid",
        "jsessionid",
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
    if last in _GROUPS["credentials"]:
        return "credential"
    if last in _GROUPS["authorization"] or (
        last == "auth" and before in ("", "proxy", "basic", "http")
    ):
        return "authorization"
    if last in _GROUPS["cookies"]:
        return "cookie"
    if last == "string" and before in ("connection", "conn"):
        return "connection-string"
    return _kind_of_glued_word(last)


def _kind_of_key(words: list[str]) -> str:
    if not words:
        return ""
    if "secret" in words[-2:]:
        return "secret"
    if words[-1] in _GROUPS["keys"] or (words[-1] == "shared" and "pre" in words):
        return "api-key"
    return "" if words[-1] in _GROUPS["public_keys"] else "key"


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


def shown_kind(kind: str) -> str:
    """Return the kind that a mask shows: a key or a credential is a `secret`."""
    return {"key": "secret", "credential": "secret"}.get(kind, kind)
