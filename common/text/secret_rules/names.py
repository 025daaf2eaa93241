"""Tell by its name whether a value is a secret: `dbPassword`, `X-Api-Key`, not `max_tokens`."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
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


# The kinds of groups of last words, of two words, and of words that others make plain.
_KINDS = {
    "passwords": "password",
    "credentials": "credential",
    "authorization": "authorization",
    "cookies": "cookie",
    "opaque_keys": "key",
    "pins": "pin",
}
_PAIRS = {
    ("pass", "word"): "password",
    **dict.fromkeys(
        product(("pass", "secret", "recovery"), ("phrase", "code")), "password"
    ),
    **dict.fromkeys(product(("recovery", "backup"), ("codes",)), "password"),
    **dict.fromkeys(product(("secret", "sess"), ("id",)), "key"),
    **dict.fromkeys(
        product(("api", "secret", "private", "access"), ("keys",)), "api-key"
    ),
    **dict.fromkeys(
        product(("", "proxy", "basic", "http"), ("auth",)), "authorization"
    ),
    **dict.fromkeys(product(("connection", "conn"), ("string",)), "connection-string"),
}
_PLAIN_AFTER = {
    "pass": ("password", "plain_passes"),
    "secrets": ("secret", "plain_secrets"),
    "salt": ("key", "plain_secrets"),
    "token": ("token", "plain_tokens"),
}


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
    if kind := _PAIRS.get((before, last), ""):
        return kind
    if words[-3:] == ["client", "key", "data"]:
        return "secret"
    if last in _PLAIN_AFTER:
        kind, group = _PLAIN_AFTER[last]
        return "" if before in _GROUPS[group] else kind
    if last == "key":
        return _kind_of_key(words[:-1])
    kinds = (kind for group, kind in _KINDS.items() if last in _GROUPS[group])
    if kind := next(kinds, ""):
        return kind
    glued = _GLUED.fullmatch(last)
    return glued.lastgroup or "" if glued else ""


def _kind_of_key(words: list[str]) -> str:
    if not words:
        return ""
    if "secret" in words[-2:]:
        return "secret"
    if words[-1] in _GROUPS["keys"] or (words[-1] == "shared" and "pre" in words):
        return "api-key"
    return "" if words[-1] in _GROUPS["public_keys"] else "key"


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
