"""Find passwords in the arguments of commands and in netrc."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from common.text.secret_rules import names, placeholders, values
from common.text.secret_rules.spans import Span

_WORD = r"(?P<open>[\"'])?(?P<secret>(?(open)[^\"'\n]{1,256}|[^\s\"'`|<>&;]{1,256}))"
_REST = r"(?:[^\n|&;]|\\\n){0,300}?"  # the arguments before, up to a pipe


@dataclass(frozen=True)
class CommandRule:
    """A pattern that runs only if one of `hints` is in the text in lower case."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _rule(kind: str, hints: str, pattern: str) -> CommandRule:
    return CommandRule(
        kind, tuple(hints.split("|")), re.compile(pattern, re.IGNORECASE)
    )


_COMMANDS = (
    _rule(
        "password",
        "mysql|mariadb|sshpass",
        rf"\b(?:mysql|mariadb|sshpass)\w{{0,60}}+{_REST}\s-(?-i:p)\s{{0,4}}{_WORD}",
    ),
    _rule(
        "password",
        "redis-cli|valkey-cli",
        rf"\b(?:redis|valkey)-cli\b{_REST}\s(?:-a|--pass)[ =]{{1,4}}{_WORD}",
    ),
    _rule(
        "password",
        "login",
        rf"\b(?:docker|podman|helm|az|oc)\b[^\n|&;]{{0,60}}\blogin\b{_REST}\s-(?-i:p)[ =]{{0,4}}{_WORD}",
    ),
    _rule(
        "password",
        "--password-stdin|chpasswd|sudo -s",
        r"\b(?:echo|printf)\s{1,4}(?:-\w\s{1,4})?(?P<open>[\"'])?(?:[\w.-]{1,32}:)?(?P<secret>(?(open)[^\"'\n]{1,256}|[^\s\"'|:]{1,256}))[\"']?\s{0,4}\|",
    ),
    _rule(
        "authorization",
        "curl|wget|http",
        rf"\b(?:curl|wget|https?)\b(?!:){_REST}\s(?:-u|--user|--proxy-user|-U|-a|--auth)[ =]{{0,4}}(?:(?P<open>[\"'])?[\w.@+%/-]{{1,64}}|(?P<empty>[\"']?)):(?P<inner>(?<![\"'])[\"'](?=\w))?(?P<secret>(?(open)[^\"'\n]{{1,256}}|(?(inner)[^\"'\n]{{1,256}}|[^\s\"'`:\[\]|;&]{{1,256}})))",
    ),
    # A key as the user, with an empty password.
    _rule(
        "authorization",
        "curl",
        rf"\bcurl\b{_REST}\s(?:-u|--user)[ =]{{0,4}}[\"']?(?P<secret>(?=[^\s\"':]*\d)[^\s\"':$<{{]{{8,256}}):[\"'\s]",
    ),
    # Calls with a user and a password: auth=("bob", "x"), HTTPBasicAuth("bob", "x").
    _rule(
        "password",
        "auth|credentials(|login(|getconnection(",
        r"(?:\bauth\s{0,4}=\s{0,4}\(|\w{0,40}(?:basic_?auth|credentials|log_?in|authenticate)\w{0,20}\(|getConnection\([^,\n]{1,128},)"
        r"\s{0,8}[\"'][^\"'\n]{1,64}[\"']\s{0,4},\s{0,8}(?P<open>[\"'])(?P<secret>[^\"'\n]{4,128})[\"']",
    ),
    _rule(
        "password",
        "identified| password '",
        r"(?:\bidentified\s{1,4}(?:by|as)|\b(?:with|encrypted|set|role|user|alter)\s{1,4}(?:[\w\"]{1,64}\s{1,4}){0,4}?password)\s{1,4}\\?(?P<open>')(?P<secret>[^'\n\\]{1,256})",
    ),
    _rule(
        "secret",
        "git config|npm config|aws configure|--from-literal|git remote",
        r"(?:\b(?:aws\s+configure\s+set|npm\s+config\s+set|git\s+config(?:\s+--\w+)?)\s{1,4}\S{0,80}(?:token|password|secret|auth)\S{0,40}[ =]{1,4}|--from-literal[= ][\"']?[\w.\-]{1,64}=)(?P<open>[\"'])?(?P<secret>[^\s\"']{6,512})",
    ),
)
_BY_HINT = {
    hint: [rule for rule in _COMMANDS if hint in rule.hints]
    for hint in {hint: None for rule in _COMMANDS for hint in rule.hints}
}
_OPTION = re.compile(
    r"(?<![\w-])--?(?P<name>(?:[a-z]{1,20}[-_]){0,3}(?:password|passwd|passphrase|pass|pwd|token|secret|api-?key|access-?key|secret-?key|auth-?key|private-?key|credentials?|passcode))"
    r"(?:[ \t]{1,4}|=|[\"'],[ \t]{0,4}(?=[\"']))(?P<open>[\"'])?(?P<secret>(?(open)[^\"'\n]{1,512}|[^\s\"'`,;(){}\[\]<>|\\]{1,512}))(?![\w(\[])",
    re.IGNORECASE,
)
# Variables of fish, csh, Windows and Dockerfiles: `set -gx NAME value`, `ENV NAME value`.
_VARIABLE = re.compile(
    r"(?:\bset(?:[ \t]{1,4}-{1,2}[a-z]{1,10}){1,4}|\bsetenv|\bsetx|#define|(?P<file>\b(?:ENV|ARG)))[ \t]{1,8}"
    r"(?P<name>[A-Za-z_]\w{2,60})[ \t]{1,8}(?P<open>[\"'])?(?P<secret>(?(open)[^\"'\n]{1,512}|[^\s\"'`;&|=]{1,512}))"
)
_VARIABLE_WORDS = ("set -", "setenv", "setx", "#define", "ENV", "ARG")
_NETRC = re.compile(
    r"(?P<machine>\bmachine\s{1,4}\S{1,256}\s{1,8})?\blogin\s{1,4}\S{1,128}\s{1,8}password\s{1,4}(?P<secret>\S{1,256})"
)


def find_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Find the secrets in the arguments of commands."""
    for hint, rules in _BY_HINT.items():
        if hint in lowered:
            for rule in rules:
                yield from _find_arguments(rule, text)
    if "--" in text or " -" in text:
        yield from _find_options(text)
    if "password" in lowered and "login" in lowered:
        yield from _find_logins(text)
    if any(word in text for word in _VARIABLE_WORDS):
        yield from _find_variables(text)


def _find_logins(text: str) -> Iterator[Span]:
    """Find the passwords of netrc: any word after `machine` and `login` is one."""
    for match in _NETRC.finditer(text):
        style = "quoted" if match["machine"] else "bare"
        if values.is_secret(match["secret"], "password", style):
            yield Span(*match.span("secret"), "password")


def _find_variables(text: str) -> Iterator[Span]:
    for match in _VARIABLE.finditer(text):
        kind = names.classify(match["name"])
        style = "bare" if match["file"] else "line"
        if kind and values.is_secret(match["secret"], kind, style):
            yield Span(*match.span("secret"), names.shown_kind(kind))


def _find_arguments(rule: CommandRule, text: str) -> Iterator[Span]:
    for match in rule.pattern.finditer(text):
        value = match["secret"]
        if (
            not placeholders.is_placeholder(value)
            and not placeholders.is_reference(value)
            and not value.startswith(("$", "-", "%", "{{", "//"))
        ):
            yield Span(*match.span("secret"), rule.kind)


def _find_options(text: str) -> Iterator[Span]:
    for match in _OPTION.finditer(text):
        value = match["secret"]
        kind = (
            "password"
            if "pass" in match["name"].lower() or "pwd" in match["name"].lower()
            else "token"
        )
        style = "quoted" if match.groupdict().get("open") else "bare"
        if not value.startswith(("-", "$")) and values.is_secret(value, kind, style):
            yield Span(*match.span("secret"), kind)
