"""Values that stand in the place of a secret but are none: templates, references, words."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path

from common.text.text_tables import read_lines

FOLDER = Path(__file__).parent
# Whole values that another program fills in: ${TOKEN}, <token>, {{ token }}, %TOKEN%, @TOKEN@.
_TEMPLATE = re.compile(
    r"\$\{[^}]*\}|\$\([^)]*\)|\$\{\{.*\}\}|\{\{.*\}\}|\{%.*%\}|\{[^{}\s]*\}|<[^<>]*>|\[[^\[\]]*\]"
    r"|\$(?:\d|[A-Za-z_]+|[A-Z_][A-Z0-9_]*|[a-z_]+[A-Z][A-Za-z]*)|%[A-Za-z_]\w*%|%\(\w+\)s"
    r"|%[-+# 0-9.]*[bcdeEfFgGosqTtUvxX]|@[A-Za-z_]+@|__\w+__|#\{[^}]*\}|:[a-z_]+|\?"
)
# Names of a value that is stored elsewhere.
_REFERENCE = re.compile(
    r"(?:os\.environ|os\.getenv|process\.env|import\.meta\.env|env(?:iron)?|secrets?|vars|var|self"
    r"|this|config|settings|cfg|options|args|params|props|request|req|Deno\.env|ENV|data|local)"
    r"(?:\.|\[|::|->|\?\.)[\w.\[\]'\"()>:?-]*"
    r"|(?:op|vault|ssm|awssm|gcpsm|azurekv|keyring|env|secretref|secretsmanager|ref\+\w+|doppler|bw)"
    r":/{0,2}[\w./#@:-]*|arn:aws[\w-]*:\S*|projects/[\w-]+/secrets/\S*|!(?:vault|secret|env)\b.*"
    # Values that are stored encrypted: Jasypt, SOPS, Spring Cloud Config, Ansible Vault.
    r"|ENC[(\[].*[)\]]|\{cipher\}.*|\$ANSIBLE_VAULT;.*",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(?:~|\.{1,2}|/(?:etc|run|var|home|opt|tmp|usr|app|mnt|secrets?|root|srv|data|dev|Users|proc|keys?"
    r"|certs?|path|config)|[A-Za-z]:)[/\\][\w./\\ @+-]*"
    r"|[\w./\\-]+\.(?:pem|key|json|txt|crt|cer|ya?ml|env|p12|pfx|jks|pub|py|[jt]sx?|toml|ini|conf|asc|gpg)",
)
# One character repeated, alone or after the prefix of a provider; the UUID of zeros.
_MASK = re.compile(
    r"[xX*.•·_#…?-]+|(?:[A-Za-z][A-Za-z0-9]{0,15}[_.-]){0,4}(?P<one>[A-Za-z0-9])(?P=one){7,}"
    r"|(?P<letter>[A-Za-z])(?P=letter)*|0+|(?P<zero>[0xX])(?P=zero){7}(?:-(?P=zero){4}){3}-(?P=zero){12}"
)
# A value that is shown in part: sk-ab...yz, ghp_****. What remains is short.
_HIDDEN = re.compile(r"\*{3,}|\.{3,}|…|•{3,}|<[a-z0-9 ._-]+>", re.IGNORECASE)
_MOST_SHOWN = 20
_PARTS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")
_FILLER = re.compile(r"[xX]{2,}|[0-9]{1,2}|(?P<letter>[A-Za-z])(?P=letter){2,}")
# What many write to show a sequence of characters.
_SEQUENCE = re.compile(
    r"(?:abcdefghij\w*|1234567890?(?:abcdef\w*)?|0123456789(?:abcdef\w*)?|deadbeef\w*)",
    re.IGNORECASE,
)
# Values of the manuals of providers: AWS writes them in all its examples.
_DOCUMENTED = re.compile(
    r"AKIA\w*EXAMPLE\w?|ASIA\w*EXAMPLE\w?|wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(read_lines(FOLDER / f"{name}.txt"))


@lru_cache(maxsize=4096)
def is_placeholder(value: str) -> bool:
    """Return whether the whole value is a placeholder; a part of it does not count."""
    value = value.strip()
    return (
        not value
        or bool(_TEMPLATE.fullmatch(value) or _MASK.fullmatch(value))
        or bool(_DOCUMENTED.fullmatch(value))
        or _is_hidden(value)
        or _is_made_of(value, _words("placeholder_words"))
    )


def _is_hidden(value: str) -> bool:
    shown = _HIDDEN.sub("", value)
    if shown == value:
        return False
    return len(shown) <= _MOST_SHOWN or _is_made_of(shown, _words("placeholder_words"))


def is_reference(value: str) -> bool:
    """Return whether a value names the place of a secret: a variable, a path, a vault."""
    return bool(_REFERENCE.fullmatch(value) or _PATH.fullmatch(value))


@lru_cache(maxsize=4096)
def is_plain(value: str) -> bool:
    """Return whether all words of a value are of forms, types and messages."""
    return _is_made_of(value, _words("placeholder_words") | _words("plain_words"))


def _is_made_of(value: str, words: frozenset[str]) -> bool:
    parts = [part.lower() for part in _PARTS.split(value) if part]
    known = [part for part in parts if part in words]
    if not known:
        return False
    return all(
        part in words or _FILLER.fullmatch(part) or _SEQUENCE.fullmatch(part)
        for part in parts
    )
