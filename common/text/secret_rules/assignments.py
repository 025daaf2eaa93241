"""Find values by the names before them: `password: x`, `"token": "x"`, `X-Api-Key: x`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from common.text.secret_rules import names, values
from common.text.secret_rules.spans import Span

# Every secret-like name has one of these; the text is in lower case.
_STEMS = re.compile(
    r"pass|pwd|psw|secret|token|key|auth|cred|cookie|kennwort|senha|contrase|bearer|jwt|psk|(?<![a-z0-9])pw|salt|sess|_pat\b|sid\b"
)
HINTS = (
    "pass",
    "pw",
    "psw",
    "psk",
    "secret",
    "token",
    "key",
    "auth",
    "cred",
    "cookie",
    "kennw",
    "senha",
    "contra",
    "bearer",
    "jwt",
    "salt",
    "sess",
    "pat",
    "sid",
)
_BEFORE = re.compile(r"[\w.\-]{0,64}\Z")
NAME_LENGTH = 64
# Functions that take a secret: setPassword("x"), .password("x"), with_token("x").
_SETTER = re.compile(
    r"(?:\b(?:set|with|add)_?|[.\s](?!(?:get|read|fetch|find|load|check|verify|validate|has|is|delete|remove|reset)_?))"
    r"(?:[A-Za-z_]{0,40})\Z",
    re.IGNORECASE,
)
_CLOSE = r"(?P<close>\\{0,3}[\"'`]?\)?\]?\\{0,3})"
# A type between a name and its value: Python's and Rust's, Go's, an array of C.
_TYPE = (
    r"(?:[ \t]{0,2}:[ \t]{0,2}&?[A-Za-z][\w.\[\]| ]{0,40}(?==[ \t]{0,4}[^=\s])"
    r"|[ \t]{1,3}\*?(?:string|\[\]byte)(?=[ \t]{0,3}=)|\[\d{0,6}\](?=[ \t]{0,3}=))?"
)
_SEPARATOR = (
    r"(?P<separator>[ \t]{0,12}(?::{1,3}=|=>|->|\?{1,2}=|[.+]=|\|\|=|={1,3}|:(?![:/])|~>)[ \t]{0,12}(?:[|>][-+]?[ \t]{0,4}\n[ \t]{1,16})?"
    r"|[\s,]{0,16}\\{0,3}[\"']?[Vv]alue\\{0,3}[\"']?[ \t]{0,4}[=:][ \t]{0,4}"
    r"|[ \t]{0,4},[ \t]{0,8}(?=\\{0,3}[\"'`])|>(?:[ \t]{0,4}\r?\n[ \t]{0,40})?|\((?=\\{0,3}[\"'`]))"
)
_QUOTED = r"[bBrRuUfF@]{0,2}(?P<quote>\\{0,3}(?:\"\"\"|'''|[\"'`]))(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]){1,1024}?)(?P=quote)"
_BARE = r"(?P<bare>[^\s\"'`<>]{1,1024})"
_AFTER = re.compile(
    rf"(?P<tail>[\w\-]{{0,40}}){_CLOSE}{_TYPE}{_SEPARATOR}(?:{_QUOTED}|{_BARE})",
    re.ASCII,
)
# Names with a space between their words: `API key: x`, `Secret Access Key: x`.
_SPACED = re.compile(
    r"(?:api|access|secret|auth|private|client|account|license|encryption|signing|master|service)(?: access| api)? \Z",
    re.IGNORECASE,
)
_LINE_START = re.compile(
    r"(?:^|[\n;])[ \t]{0,32}(?:[-+*>#|] ?)?(?:export |set |setx |ENV |ARG |-e |--env |env |declare -x |\$env:)?[\"']?[\w.\-]{0,64}\Z"
)
_PAIR_BEFORE = re.compile(r"(?<!\S)[\w.-]{1,40}=[^\s&=]{1,40}[ \t]\Z")
_SPACE_NAME = 24
_END_TAG = re.compile(r"\s{0,40}</")
# A word ends before these characters, if they are not part of `NAME=value`.
_WORD_END = re.compile(r"[,;(){}\[\]&|\\]")


def find_values(text: str, lowered: str) -> Iterator[Span]:
    """Find the secrets that have a name."""
    if not any(hint in lowered for hint in HINTS):
        return
    for stem in _STEMS.finditer(lowered):
        match = _AFTER.match(text, stem.end())
        if match and (span := _span_of(text, stem.start(), match)):
            yield span


def _span_of(text: str, stem: int, match: re.Match[str]) -> Span | None:
    before = text[max(stem - NAME_LENGTH, 0) : stem]
    first = _BEFORE.search(before)
    start = stem - len(first[0] if first else "")
    if spaced := _SPACED.search(text, max(start - _SPACE_NAME, 0), start):
        start = spaced.start()
    if text[start - 1 : start] == ":" and match["separator"] == ":":
        return None  # the name of a resource: arn:aws:secretsmanager:…:secret:name
    if text[max(start - 4, 0) : start] in ("--- ", "=== "):
        return None  # the result of a test: --- PASS: TestLogin/case_2
    kind = names.classify(text[start : match.start("close")].replace(" ", "_"))
    if not kind or not _is_separated(match):
        return None
    if match["quoted"] is not None:
        return _quoted_span(match, kind, is_setting=_is_setting(text, start, match))
    return _bare_span(text, start, match, kind)


def _is_separated(match: re.Match[str]) -> bool:
    """Return whether `,` and `value=` follow a name in quotes, as in `("password", "x")`.

    `value:` may stand on the line below a name without quotes, as in YAML.
    """
    separator = match["separator"].strip()
    is_list = separator.startswith(",") or "value" in separator.lower()
    if separator == ">":
        before = match.string[max(match.start() - 80, 0) : match.start()]
        is_tag = re.search(r"<[\w:.\-\"'= ]{0,80}\Z", before)
        return bool(is_tag) and bool(_END_TAG.match(match.string, match.end()))
    if separator == "(":
        return bool(
            _SETTER.search(
                match.string[max(match.start() - NAME_LENGTH, 0) : match.end("tail")]
            )
        )
    return (
        not is_list
        or any(quote in match["close"] for quote in "\"'`")
        or "\n" in match["separator"]
    )


def _is_setting(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether a line begins with `NAME=`, as in a shell or in a file of settings."""
    line = text[max(start - 80, 0) : match.start()]
    name = text[start : match.start("close")]
    return (
        match["separator"] == "="
        and name.isupper()
        and _LINE_START.search(line) is not None
    )


def _quoted_span(
    match: re.Match[str], kind: str, *, is_setting: bool = False
) -> Span | None:
    value, start = match["quoted"], match.start("quoted")
    if kind == "authorization":
        return _authorization_span(value, start)
    if kind in ("cookie", "connection-string"):
        return None  # other rules find the parts
    is_passphrase = is_setting and kind == "password" and values.is_passphrase(value)
    if not is_passphrase and not values.is_secret(value, kind, "quoted"):
        return None
    return Span(start, match.end("quoted"), names.shown_kind(kind))


def _authorization_span(value: str, start: int) -> Span | None:
    scheme, space, rest = value.partition(" ")
    if not space:
        is_secret = values.is_secret(value, "key", "quoted")
        return Span(start, start + len(value), "authorization") if is_secret else None
    if not scheme.isalpha() or not values.is_secret(rest, "token", "quoted"):
        return None
    return Span(start + len(scheme) + 1, start + len(value), "authorization")


def _bare_span(text: str, start: int, match: re.Match[str], kind: str) -> Span | None:
    if kind in ("cookie", "connection-string", "authorization"):
        return None
    place, whole = match.start("bare"), match["bare"]
    if is_line(text, start, match):
        value = whole.rstrip(",;")
        style = "spaced" if match["separator"].startswith((" ", "\t")) else "line"
        if values.is_secret(value, kind, style) and not _is_code(value):
            return Span(place, place + len(value), names.shown_kind(kind))
    cut = _WORD_END.search(whole)
    value = whole[: cut.start()] if cut else whole
    if cut and cut[0] in "([" and value:
        return None  # a call
    value = value.rstrip(".:,!?") if len(value) > 1 else value
    if value.isdigit() and match["separator"] == ":":
        return None  # the number of a line
    if value and values.is_secret(value, kind, "bare"):
        return Span(place, place + len(value), names.shown_kind(kind))
    return None


def is_line(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether a line is `NAME=value`, as in a file of settings, or a list of them."""
    line = text[max(start - 80, 0) : match.start()]
    separator = match["separator"]
    if separator == "=" and _PAIR_BEFORE.search(text, max(start - 80, 0), start):
        return True
    if not _LINE_START.search(line):
        return False
    if re.search(r"&[\w.\-]+=", match["bare"]):
        return False  # the parameters of a URL or of a form
    after = text[match.end() : match.end() + 1]
    return (
        after in ("", "\n", "\r", " ", "\t")
        and (separator == "=" or ":" in separator or separator.strip() == "=")
        and (_rest_is_empty(text, match.end()) or _is_setting(text, start, match))
    )


def _rest_is_empty(text: str, end: int) -> bool:
    rest = text[end : end + 200].partition("\n")[0].strip()
    return not rest or rest.startswith(("#", "//"))


_CODE = re.compile(
    r"[A-Za-z_$][\w.$]*[(\[{].*|[({\[].*|.*[)\]};]|[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)+"
)


def _is_code(value: str) -> bool:
    return bool(_CODE.fullmatch(value)) and not (
        any(c.isdigit() for c in value) and not value[0].isalpha()
    )
