"""Find passwords in the arguments of commands, in netrc and in prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from common.text.secret_rules import names, placeholders, values
from common.text.secret_rules.spans import Span, has_digit, is_random, is_slug

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
        "mysql|mariadb",
        rf"\b(?:mysql|mariadb)\w{{0,60}}+{_REST}\s-(?-i:p){_WORD}",
    ),
    # Calls with a user and a password: auth=("bob", "x"), HTTPBasicAuth("bob", "x").
    _rule(
        "password",
        "auth|credentials(|getconnection(",
        r"\b(?:auth\s{0,4}=\s{0,4}\(|\w{0,40}(?:basic_?auth|credentials)\w{0,20}\(|getConnection\([^,\n]{1,128},)"
        r"\s{0,8}[\"'][^\"'\n]{1,64}[\"']\s{0,4},\s{0,8}(?P<open>[\"'])(?P<secret>[^\"'\n]{4,128})[\"']",
    ),
    _rule(
        "password",
        "jdbc:oracle",
        r"jdbc:oracle:\w{1,10}:[\w.-]{1,64}/(?P<secret>[^\s@\"'/]{1,128})@",
    ),
    _rule(
        "password", "ssh-keygen", rf"\bssh-keygen\b{_REST}\s-(?-i:N|P)\s{{0,4}}{_WORD}"
    ),
    _rule("password", "wifi:", r"\bWIFI:(?:[^\n]{0,80};)?P:(?P<secret>[^;\n]{8,64});"),
    # A name and a value with a space between them.
    _rule(
        "secret",
        "#define|setx",
        r"(?:#\s?define|\bsetx)\s{1,8}\w{0,40}(?:key|token|secret|passwd|password|pass|pwd)\s{1,8}"
        r"(?P<open>[\"'])?(?P<secret>(?(open)[^\"'\n]{6,512}|(?=[^\s\"']*\d)[^\s\"'(]{8,512}(?!\()))",
    ),
    _rule(
        "password",
        "login(|log_in(|authenticate(|signin(|sign_in(",
        r"\b(?:log_?in|authenticate|sign_?in)\(\s{0,8}[\w.\"'@+-]{1,80}\s{0,4},\s{0,8}(?P<open>[\"'])(?P<secret>[^\"'\n]{4,128})[\"']\s{0,4}[,)]",
    ),
    _rule(
        "password", "sshpass", rf"\bsshpass\s{{1,4}}(?:-v\s)?-(?-i:p)\s{{0,4}}{_WORD}"
    ),
    _rule(
        "password",
        "redis-cli|valkey-cli",
        rf"\b(?:redis|valkey)-cli\b{_REST}\s(?:-a|--pass)[ =]{{1,4}}{_WORD}",
    ),
    _rule(
        "password",
        "login",
        rf"\b(?:docker|podman|helm|nerdctl|oc|az|skopeo|buildah|crane|oras|cf|vault)\b[^\n|&;]{{0,60}}\blogin\b{_REST}\s-(?-i:p)[ =]{{0,4}}{_WORD}",
    ),
    _rule(
        "password",
        "mongo",
        rf"\bmongo(?:sh|dump|restore|import|export)?\b{_REST}\s-(?-i:p)[ =]{{0,4}}{_WORD}",
    ),
    _rule(
        "password",
        "sqlcmd|bcp|osql",
        rf"\b(?:sqlcmd|bcp|osql)\b{_REST}\s-(?-i:P)[ =]{{0,4}}{_WORD}",
    ),
    _rule(
        "password",
        "sqlplus",
        r"\b(?:sqlplus|expdp|impdp|sqlldr|rman)\s{1,4}(?:-\w+\s{1,4}){0,4}(?:target\s)?[\"']?[\w.-]{1,64}/(?P<secret>[^\s@\"']{1,128})@",
    ),
    _rule(
        "authorization",
        "curl|wget|http|xh ",
        rf"\b(?:curl|wget|https?|xh)\b(?!:){_REST}\s(?:-u|--user|--proxy-user|-U|-a|--auth)[ =]{{0,4}}(?:(?P<open>[\"'])?[\w.@+%/-]{{1,64}}|(?P<empty>[\"']?)):(?P<inner>(?<![\"'])[\"'](?=\w))?(?P<secret>(?(open)[^\"'\n]{{1,256}}|(?(inner)[^\"'\n]{{1,256}}|[^\s\"'`:\[\]|;&]{{1,256}})))",
    ),
    # A key as the user, with an empty password.
    _rule(
        "authorization",
        "curl",
        rf"\bcurl\b{_REST}\s(?:-u|--user)[ =]{{0,4}}[\"']?(?P<secret>(?=[^\s\"':]*\d)[^\s\"':$<{{]{{8,256}}):[\"'\s]",
    ),
    _rule(
        "password",
        "zip|7z|rar",
        rf"\b(?:zip|unzip|7za?|7zr|rar|unrar)\b{_REST}\s-(?:(?-i:P)\s{{1,4}}|(?-i:p)){_WORD}",
    ),
    _rule("password", "ldap", rf"\bldap\w+\b{_REST}\s-(?-i:w)\s{{0,4}}{_WORD}"),
    _rule(
        "password",
        "openssl",
        r"(?:-pass(?:in|out)?|-k)\s{1,4}[\"']?(?:pass:)(?P<secret>[^\s\"']{1,256})",
    ),
    _rule("password", "openssl", rf"\bopenssl\b{_REST}\s-(?:k|K)\s{{1,4}}{_WORD}"),
    _rule(
        "password",
        "htpasswd",
        r"\bhtpasswd\b[^\n|&;]{0,60}?\s-\w*b\w*\s{1,4}(?:\S{1,128}\s{1,4})?[\w.@-]{1,64}\s{1,4}(?P<open>[\"'])?(?P<secret>[^\s\"']{1,256})",
    ),
    _rule(
        "password",
        "smbclient|rpcclient|mount|smbmap|crackmapexec|impacket|cifs",
        r"(?:-U\s{0,4}[\"']?[\w.\\/-]{1,64}%|[,\s](?:password|pass)=)(?P<secret>[^\s\"',]{1,128})",
    ),
    _rule(
        "password",
        "net use",
        r"\bnet\s{1,4}use\s{1,4}(?:\w:\s{1,4})?\\\\\S{1,128}\s{1,4}(?!/)(?P<open>[\"'])?(?P<secret>[^\s\"'/]{1,128})",
    ),
    _rule(
        "password",
        "net user",
        r"\bnet\s{1,4}user\s{1,4}[\w.-]{1,64}\s{1,4}(?!/|\*)(?P<secret>[^\s\"'/]{1,128})",
    ),
    _rule(
        "password",
        "convertto-securestring",
        r"ConvertTo-SecureString\s{1,4}(?:-String\s{1,4})?(?P<open>[\"'])(?P<secret>[^\"'\n]{1,256})",
    ),
    _rule(
        "password",
        "chpasswd|passwd|sudo -s|--password-stdin|kinit|su -",
        r"\b(?:echo|printf)\s{1,4}(?:-\w\s{1,4})?(?P<open>[\"'])?(?:[\w.-]{1,32}:)?(?P<secret>(?(open)[^\"'\n]{1,256}|[^\s\"'|:]{1,256}))[\"']?\s{0,4}\|\s{0,4}(?:sudo\s{1,4}(?:-\w+\s{1,4}){0,3}|docker|podman|helm|chpasswd|passwd|kinit|su\b|gh\s|skopeo|crane|oras|nerdctl|oc\b|az\b)",
    ),
    _rule(
        "password",
        "identified",
        r"\bidentified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?(?:by|as)\s{1,4}(?:password\s{1,4})?\\?(?P<open>[\"'])(?P<secret>[^\"'\n\\]{1,256})",
    ),
    _rule(
        "password",
        "password",
        r"\b(?:with|encrypted|set|role|user|alter)\s{1,4}(?:[\w\"]{1,64}\s{1,4}){0,4}?password\s{1,4}(?:=\s{0,4})?\\?(?P<open>')(?P<secret>[^'\n\\]{1,256})",
    ),
    _rule(
        "secret",
        "aws_secret|aws configure|git config|gh auth|npm config|pulumi|heroku config|vault|fly secrets|wrangler",
        r"\b(?:aws\s{1,4}configure\s{1,4}set\s{1,4}\S*(?:secret|token)\S*|npm\s{1,4}config\s{1,4}set\s{1,4}\S*(?:token|auth|password)\S*|git\s{1,4}config\s{1,4}(?:--\w+\s{1,4})?\S*(?:token|password|secret)\S*|vault\s{1,4}login|pulumi\s{1,4}config\s{1,4}set\s{1,4}--secret\s{1,4}\S+)[ =]{1,4}(?P<open>[\"'])?(?P<secret>[^\s\"']{6,512})",
    ),
    _rule(
        "token",
        "--token|--discovery-token",
        r"--(?:discovery-)?token[ =]{1,4}(?P<secret>[a-z0-9]{6}\.[a-z0-9]{16})\b",
    ),
    _rule(
        "secret",
        "--from-literal",
        r"--from-literal[= ][\"']?[\w.\-]{1,64}=(?P<secret>[^\s\"']{1,512})",
    ),
    _rule(
        "secret",
        "mc alias",
        r"\bmc\s{1,4}alias\s{1,4}set\s{1,4}\S{1,64}\s{1,4}\S{1,256}\s{1,4}\S{1,128}\s{1,4}(?P<secret>\S{3,128})",
    ),
    _rule(
        "password",
        "nmcli|wpa_passphrase",
        r"\b(?:nmcli\b[^\n]{0,80}\bpassword|wpa_passphrase\s{1,4}\S{1,64})\s{1,4}(?P<open>[\"'])?(?P<secret>[^\s\"']{4,128})",
    ),
    _rule(
        "password",
        "keytool|jarsigner|apksigner",
        r"-(?:store|key|deststore|srcstore|destkey|srckey)pass\s{1,4}(?:pass:)?(?P<open>[\"'])?(?P<secret>[^\s\"']{3,128})",
    ),
    _rule(
        "password",
        ":5432:|:5433:|:6432:|:*:",
        r"(?<![^\s\"'`])[\w.*-]{1,128}:(?:5432|5433|6432|\*):[\w.*-]{1,64}:[\w.*-]{1,64}:(?P<secret>[^\s:\"'`]{1,128})(?![^\s\"'`])",
    ),
    # The lines of htpasswd and of /etc/shadow.
    _rule(
        "password",
        ":$|:{s",
        r"(?<![^\s\"'`])[\w.@-]{1,64}:\$?(?P<secret>(?<=\$)(?:apr1|y|gy|7|2[abxy]|1|5|6)\$[^\s:\"'`]{16,200}|\{S{0,2}SHA(?:\d{3})?\}[\w+/]{20,100}={0,2})",
    ),
    # Directives of redis.conf.
    _rule(
        "password",
        "requirepass|masterauth",
        r"\b(?:requirepass|masterauth)\s{1,4}(?P<open>[\"'])?(?P<secret>(?=[^\s\"']*[\d!@#$%^&*])[^\s\"']{4,256})",
    ),
    _rule(
        "password",
        "snowsql|impala|beeline|clickhouse|cqlsh|influx|rabbitmqadmin|lftp|xfreerdp|rdesktop|pscp|plink|winexe|evil-winrm|cypher-shell",
        rf"\b(?:snowsql|impala-shell|beeline|clickhouse-client|cqlsh|influx|rabbitmqadmin|lftp|xfreerdp|rdesktop|pscp|plink|winexe|evil-winrm|cypher-shell)\b{_REST}(?:\s--?(?-i:p|pw|pass|password)[ =:]{{1,4}}|\s/p:){_WORD}",
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
    r"(?:\bset(?:[ \t]{1,4}-{1,2}[a-z]{1,10}){1,4}|\bsetenv|\bsetx|(?P<file>\b(?:ENV|ARG)))[ \t]{1,8}"
    r"(?P<name>[A-Za-z_]\w{2,60})[ \t]{1,8}(?P<open>[\"'])?(?P<secret>(?(open)[^\"'\n]{1,512}|[^\s\"'`;&|=]{1,512}))"
)
_VARIABLE_WORDS = ("set -", "setenv", "setx", "ENV", "ARG", 'variable "')
# A variable of Terraform: the value is in its block.
_DEFAULT = re.compile(
    r"\bvariable[ \t]{1,4}\"(?P<name>[\w-]{1,64})\"[ \t]{0,4}\{[^{}\"]{0,300}?(?:description[ \t]{0,16}=[ \t]{0,4}\"[^\"\n]{0,200}\"[^{}\"]{0,100}?)?"
    r"\bdefault[ \t]{0,16}=[ \t]{0,4}\"(?P<secret>[^\"\n]{1,512})\""
)
_NETRC = re.compile(
    r"\b(?:machine\s{1,4}\S{1,256}|default)\s{1,8}(?:\S{1,32}\s{1,4}\S{1,256}\s{1,8}){0,3}?password\s{1,4}(?P<secret>\S{1,256})"
)
_LOGIN_PASSWORD = re.compile(
    r"\blogin\s{1,4}\S{1,128}\s{1,8}password\s{1,4}(?P<secret>\S{1,256})"
)

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


def find_secrets(text: str, lowered: str) -> Iterator[Span]:
    """Find the secrets in commands and in prose."""
    for hint, rules in _BY_HINT.items():
        if hint in lowered:
            for rule in rules:
                yield from _find_arguments(rule, text)
    if "--" in text or " -" in text:
        yield from _find_options(text)
    if "password" in lowered and (
        "machine" in lowered or "login" in lowered or "default" in lowered
    ):
        yield from _find_logins(text)
    if any(word in text for word in _VARIABLE_WORDS):
        yield from _find_variables(text)
    yield from _find_prose(text, lowered)


def _find_logins(text: str) -> Iterator[Span]:
    """Find the passwords of netrc: any word after `machine` and `login` is one."""
    for pattern in (_NETRC, _LOGIN_PASSWORD):
        for match in pattern.finditer(text):
            is_entry = pattern is _NETRC and "login" in match[0]
            style = "quoted" if is_entry else "bare"
            if values.is_secret(match["secret"], "password", style):
                yield Span(*match.span("secret"), "password")


def _find_variables(text: str) -> Iterator[Span]:
    for match in _VARIABLE.finditer(text):
        kind = names.classify(match["name"])
        style = "bare" if match["file"] else "line"
        if kind and values.is_secret(match["secret"], kind, style):
            yield Span(*match.span("secret"), names.shown_kind(kind))
    for match in _DEFAULT.finditer(text):
        kind = names.classify(match["name"])
        if kind and values.is_secret(match["secret"], kind, "quoted"):
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


_LOGIN_HINTS = (
    "credential",
    "creds",
    "login",
    "log in",
    "sign",
    "zugangsdaten",
    "account",
)


def _find_prose(text: str, lowered: str) -> Iterator[Span]:
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
