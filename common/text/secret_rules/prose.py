"""Find passwords that a sentence tells: `the password is x`, `credentials: bob:x`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from common.text.secret_rules import values
from common.text.secret_rules.spans import Span, has_digit, is_random, is_slug

_NOUN = re.compile(
    r"(?<![\w-])(?<!\w:)(?<!--- )(?<!=== )(?:passwort|pass(?:word|phrase|code|wd)?|kennwort|pwd|pw|secret(?: key)?|api[ -]?key|access key"
    r"|token|credentials?|contraseña|mot de passe|senha|wachtwoord|parola|пароль|密码|パスワード)"
)
_FOR = r"(?:[ \t]{1,2}(?:for|of|to|on|für|vom|zum|zur|im|des|de|du|del|della|do|da|van|voor|till|von|para)[ \t]{1,2}(?:[^\s:=]{1,40}[ \t]{1,2}){0,4}?[^\s:=]{1,40}?)?"
_IS = (
    r"(?:(?:[ \t]{1,2}(?:(?:has been |have been |was |is |got )?(?:changed|set|reset|updated|rotated) to"
    r"|is|was|lautet|ist|war|es|est|é|является|being|to|as|auf|will be|should be|now is)\b|[ \t]{0,2}(?:[=:]|[-\u2013](?=[ \t])))"
    r"(?:[ \t]{1,2}(?:now|still|currently|set to|called|simply|just|always|jetzt|ahora))?[ \t]{0,2}:?[ \t]{0,2}(?:\n{1,2}[ \t]{0,8})?"
    r"|是|は)[ \t]{0,2}"
)
_VALUE = r"(?P<open>[\"'`\u201c\u2018\xab])?(?P<secret>(?(open)[^\"'`\u201d\u2019\xbb\n]{1,128}|[^\s\"'`<>]{1,256}))"
_SAID = re.compile(rf"{_FOR}{_IS}{_VALUE}", re.IGNORECASE)
_WITH = re.compile(rf"[ \t]{{1,2}}{_VALUE}", re.IGNORECASE)
_PASSWORDS = frozenset(
    {
        "password",
        "passwort",
        "passphrase",
        "passcode",
        "passwd",
        "kennwort",
        "pwd",
        "pw",
    }
    | {"contraseña", "mot de passe", "senha", "wachtwoord", "parola", "пароль", "密码"}
    | {"パスワード", "credentials", "credential"}
)
# The word `pass` after a user is a password: `login bob pass x`.
_ACCOUNT = re.compile(
    r"\b(?:user(?:name)?|login|account)[ \t:=]{1,3}\S{1,64}[ \t,/]{1,3}\Z",
    re.IGNORECASE,
)
ACCOUNT = 96
_LOGIN = re.compile(
    r"\b(?:credentials?|creds|logins?|log ?in|sign ?in|login data|zugangsdaten|account)\b[\s:=]{1,3}(?:(?:is|are|as|with|using|sind|mit)\s{1,2})?"
    r"[\"'`(]?[\w.@+-]{2,64}\s{0,2}[:/]\s{0,2}(?P<open>[\"'`])?(?P<secret>[^\s\"'`<>),;]{4,128})",
    re.IGNORECASE,
)
_LOGIN_HINTS = (
    "credential",
    "creds",
    "login",
    "log in",
    "sign",
    "zugangsdaten",
    "account",
)


def find_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Find the passwords in prose."""
    for noun in _NOUN.finditer(lowered):
        if (said := _SAID.match(text, noun.end())) and (span := _prose_span(said, 4)):
            yield span
        follows = _WITH.match(text, noun.end())
        if (
            follows
            and _is_named(text, noun, follows["secret"])
            and (span := _prose_span(follows, 6))
        ):
            yield span
    for hint in _LOGIN_HINTS:
        if hint in lowered:
            spans = (_prose_span(match, 5) for match in _LOGIN.finditer(text))
            yield from (span for span in spans if span)
            return


def _is_named(text: str, noun: re.Match[str], value: str) -> bool:
    """Return whether a noun names the value after it: `password x`, not `pass args1 on`.

    `secret tls-2025` and `token item-3` are names of things.
    """
    if noun[0] == "pass":
        return bool(_ACCOUNT.search(text, max(noun.start() - ACCOUNT, 0), noun.start()))
    return noun[0] in _PASSWORDS or not is_slug(value)


def _prose_span(match: re.Match[str], least: int) -> Span | None:
    value = match["secret"]
    quoted = bool(match["open"])
    if not quoted:
        value = value.rstrip(".,;:?)]}")
        value = value.removesuffix("**")  # the end of bold text
        value = value[:-1] if value.endswith("!") and value[:-1].isalpha() else value
    if len(value) < least or not _is_said(value, quoted):
        return None
    return Span(match.start("secret"), match.start("secret") + len(value), "password")


def _is_said(value: str, quoted: bool) -> bool:
    """Return whether a word of a sentence is a password: mixed characters, no identifier."""
    is_letters = value.isalpha() and is_random(value)
    if not is_letters and not values.is_secret(value, "password", "bare"):
        return False
    if values.is_technical(value) or value[0] in "{([<" or "${" in value:
        return False
    if quoted and " " in value:
        return False
    if value.isdigit():
        return quoted or len(value) >= 6
    return (
        has_digit(value)
        or is_random(value, least=8)
        or any(c in "!@#$%^&*+=?~" for c in value[1:])
    )
