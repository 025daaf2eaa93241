"""Tell whether a value under a secret-like name is a secret, or a word, a type, a sentence."""

from __future__ import annotations

import re
from functools import lru_cache

from common.text.secret_rules import placeholders
from common.text.secret_rules.spans import has_digit, has_letter, is_random, is_slug

_DOTTED = re.compile(r"[A-Za-z_$@][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+[.:]?")
_CALL = re.compile(r"[A-Za-z_][\w.:]*[(\[].*")
_SENTENCE = re.compile(
    r"\b(?:the|a|an|is|are|was|be|to|of|for|from|this|that|your|you|must|may|can|cannot|not|no|in|on|or|and"
    r"|with|if|when|has|have|should|please|will|at least|required|invalid|missing|der|die|das|ist|und|nicht)\b",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"\d++(?:\.\d++)*+(?:ms|s|m|h|d|px|kb|mb|gb|k|x|%|st|nd|rd|th|-?\w*(?:bits?|bytes?|chars?|characters|digits?))?"
)
_ALGORITHM = re.compile(
    r"(?:sha-?\d+|md5|bcrypt|argon2(?:id?|d)?|pbkdf2(?:_?sha\d{1,3})?|uuid-?v?\d?|scrypt|base-?\d\d|utf-?\d+|aes-?\d*|rsa-?\d*|[hrep]s\d{3}|oauth\d?|http\d?|ipv\d"
    r"|x509|pkcs\d+|ed25519|curve\d+|v\d{1,3}|p\d{1,3}|level\d|step\d)(?:[-_/.](?:[a-z]{1,12}\d{0,3}|\d{1,4})){0,4}",
    re.IGNORECASE,
)
# Names of ciphers: AES-256-GCM, RSA/ECB/OAEPWithSHA-256AndMGF1Padding.
_CIPHER = re.compile(
    r"(?>(?>aes|wrap|camellia|aria|x?chacha20|x?salsa20|3?des|ede3?|sm4|rsa|ecdsa|ecdh|pbes2|pbe|hmac|sha-?\d{1,3}|sha|md5"
    r"|poly1305|oaep|mgf1|pkcs\d{1,2}|nopadding|padding|ecb|cbc|ctr|gcm|ccm|ocb|a\d{3}kw|kw|[hrep]s\d{3}|with|and|\d{3})[-_/+. ]?){2,12}",
    re.IGNORECASE,
)
# The name of a variable: MACOS_SIGN_PASSWORD.
_CONSTANT = re.compile(r"[A-Z]{2,30}(?:_[A-Z]{2,30}\d{0,2}){1,8}")
# The beginning of a key of this service, by which its caller is named: key:am_oWepSz81.
_CALLER = re.compile(r"am_[\w-]{8}")
_SLUG_MARK = re.compile(r"[-_./ ]")
_NUMBER = re.compile(r"\d{4,12}")
_SPECIAL = re.compile(r"[!@#$%^&*+=?~|]")
MOST_WORDS = 8  # of a passphrase
STRONG = frozenset({"password", "api-key", "authorization"})


@lru_cache(maxsize=4096)
def is_secret(value: str, kind: str, style: str) -> bool:
    """Return whether a value is a secret.

    `style` says how sure its name is: `json` is a field of JSON, `quoted` a string in a
    text, `line` the rest of a line `NAME=value`, and `bare` a word.
    """
    if placeholders.is_placeholder(value) or placeholders.is_plain(value):
        return False
    if placeholders.is_reference(value) or _is_sentence(value):
        return False
    if any(known.fullmatch(value) for known in (_CIPHER, _CONSTANT, _CALLER)):
        return False
    if kind == "pin":
        return style == "json" and bool(_NUMBER.fullmatch(value))
    if kind in ("key", "cookie", "credential"):
        return is_random(value, least=12)
    if kind == "password":
        return _is_password(value, style)
    return _is_key(value, kind, style)


def _is_sentence(value: str) -> bool:
    if " " not in value.strip():
        return False
    words = value.split()
    if len(words) > 12 or _SENTENCE.search(value):
        return True
    return value.rstrip().endswith((".", "?", ":")) and value[:1].isupper()


def is_passphrase(value: str) -> bool:
    """Return whether a value is some words, but no sentence and no placeholder."""
    return (
        2 <= len(value.split()) <= MOST_WORDS
        and not value.endswith((".", "?", ":", "!"))
        and not placeholders.is_placeholder(value)
        and not placeholders.is_plain(value)
        and not placeholders.is_reference(value)
    )


def _is_password(value: str, style: str) -> bool:
    if style in ("json", "quoted"):
        return len(value) >= 3 or has_digit(value)
    if _DOTTED.fullmatch(value) or _CALL.fullmatch(value):
        return False
    if _MEASURE.fullmatch(value) and not (value.isdigit() and len(value) >= 4):
        return False
    if style == "line":
        return len(value) >= 3
    return (has_digit(value) and len(value) >= 3) or (
        bool(_SPECIAL.search(value[1:])) and len(value) >= 6
    )


def _is_key(value: str, kind: str, style: str) -> bool:
    """Return whether a value is a token, a key or a secret: it has a digit, or is no word."""
    if len(value) < 6 or value.isdigit():
        return False
    if kind in ("token", "api-key") and " " in value.strip():
        return False
    if style == "json" and not _MEASURE.fullmatch(value):
        if has_digit(value) and has_letter(value):
            return not (
                kind == "token" and len(value) < 12 and _SLUG_MARK.search(value)
            )
        if kind != "token" and len(value) >= 8 and value.isalpha():
            return True
    if style not in ("json", "quoted") and (
        _DOTTED.fullmatch(value) or _CALL.fullmatch(value)
    ):
        return False
    if _MEASURE.fullmatch(value) or _ALGORITHM.fullmatch(value):
        return False
    if has_digit(value) and has_letter(value):
        return len(value) >= 8 and not (
            kind == "token" and len(value) < 20 and is_slug(value)
        )
    if style == "bare":
        return len(value) >= 20 and not is_slug(value) and bool(_SPECIAL.search(value))
    if kind in STRONG:
        return len(value) >= 8 and not is_slug(value)
    return not is_slug(value) and (len(value) >= 12 or bool(_SPECIAL.search(value)))


_TECHNICAL = re.compile(
    r"[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)+|[\w.]+\(.*|[\w-]+\.(?:py|js|ts|md|json|txt|ya?ml|go|rs)(?::\d+)?|(?:line|step|version|rfc|issue|pr|v)[-_#]?\d[\w.]*"
    r"|#?\d{1,6}|\d{4}-\d\d-\d\d\S*|[A-Z]{2,10}-\d{1,6}|[a-z]+_[a-z_]+\d{0,2}|[a-z]+(?:_[a-z]+\d{0,2})*_v\d{1,3}(?:_[A-Za-z][a-z]{0,11})?|[a-z]+-[a-z-]+\d{0,2}|\w+=.*|\w+:/.*|/\S*|\d+[/x:]\d+\S*|\d+\u2192.*",
)


def is_technical(value: str) -> bool:
    """Return whether a word of a sentence is an identifier, a file, a version or a date."""
    return bool(
        _TECHNICAL.fullmatch(value)
        or _ALGORITHM.fullmatch(value)
        or (_MEASURE.fullmatch(value) and not value.isdigit())
    )
