"""Run the rules of `upstream_rules.json`, which gitleaks' author maintains, on text.

The rules are in the syntax of RE2. A rule needs one of its keywords near the secret. A
value that a rule finds by the name of a vendor must look random, because RE2's rules are
made for files of code, and prose has more words. `unless` and `only` of a rule are its
author's filters on the value: no pattern of `unless` and each of `only` occurs in a secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from common.text.secret_rules import placeholders
from common.text.secret_rules.spans import Span, entropy, has_digit, is_slug

FILE = Path(__file__).with_name("upstream_rules.json")
# The part between the name of a vendor and the value.
_BETWEEN = r"""(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)"""
_LEAD = r"[\w.-]{0,50}?"
# What follows a secret: no letter, no digit, and no ending of a file that has a hash as name.
_AFTER = r"(?![A-Za-z0-9])(?!\.(?:png|jpe?g|gif|svg|ico|webp|css|js|map|woff2?)\b)"
_VARIANT = re.compile(r"\.\d+\Z")
_END = r"""(?:\\?['"\x60]|[\s;]|\\[nr]|$)"""
# Labels of values that are public: the commit of a release, the digest of an image.
_PUBLIC = re.compile(
    r"(?:commit|sha\d*|hash|digest|checksum|version|release|(?:\b|_|client)id|etag|md5|uuid|integrity|revision|ref|build)"
    r"""[\s'"]*(?:=|>|:|,|\|\|)""",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class UpstreamRule:
    kind: str
    keywords: tuple[str, ...]
    pattern: re.Pattern[str]
    least_entropy: float
    group: int
    by_vendor: bool
    unless: tuple[re.Pattern[str], ...]
    only: tuple[re.Pattern[str], ...]


def convert(regex: str) -> str:
    """Rewrite a regular expression of RE2 for Python."""
    regex = regex.replace(_LEAD, "").replace(_END, _AFTER)
    regex = regex.replace(r"\z", r"\Z").replace("[:alnum:]", "A-Za-z0-9")
    while (at := regex.find("(?i)", 1)) > 0:
        end = _end_of_group(regex, at)
        regex = f"{regex[:at]}(?i:{regex[at + 4 : end]}){regex[end:]}"
    return regex


def _end_of_group(regex: str, start: int) -> int:
    """Return the place where the group around `start` ends, or the end of the regex."""
    depth, place, in_class = 0, start, False
    while place < len(regex):
        character = regex[place]
        if character == "\\":
            place += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character == "(":
            depth += 1
        elif character == ")":
            if depth == 0:
                return place
            depth -= 1
        place += 1
    return len(regex)


@cache
def rules() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(FILE.read_text(encoding="utf-8"))["rules"])


@cache
def _compile(index: int) -> UpstreamRule:
    row = rules()[index]
    return UpstreamRule(
        kind=_VARIANT.sub("", row["id"]),
        keywords=tuple(row["keywords"]),
        pattern=re.compile(convert(row["regex"]), re.ASCII),
        least_entropy=row["entropy"] or 0,
        group=row.get("group", 0),
        by_vendor=_BETWEEN in row["regex"] or "|[\\n\\r])" in row["regex"],
        unless=_patterns(row.get("unless", ())),
        only=_patterns(row.get("only", ())),
    )


def _patterns(regexes: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(convert(regex), re.ASCII) for regex in regexes)


@cache
def _by_keyword() -> dict[str, tuple[int, ...]]:
    """Map each keyword to the rules of all keywords that begin it."""
    keywords = {keyword for rule in rules() for keyword in rule["keywords"]}
    return {
        keyword: tuple(
            index
            for index, rule in enumerate(rules())
            if any(keyword.startswith(other) for other in rule["keywords"])
        )
        for keyword in keywords
    }


@cache
def _keyword_pattern() -> re.Pattern[str]:
    return re.compile(
        "|".join(map(re.escape, sorted(_by_keyword(), key=len, reverse=True)))
    )


def find_tokens(text: str, lowered: str, start: int, end: int) -> Iterator[Span]:
    """Find secrets in a part of a text."""
    found = {
        index
        for match in _keyword_pattern().finditer(lowered, start, end)
        for index in _by_keyword()[match[0]]
    }
    for index in sorted(found):
        yield from find_by_rule(index, text, start, end)


def find_by_rule(index: int, text: str, start: int, end: int) -> Iterator[Span]:
    """Find the secrets of one rule, whether or not its keywords are in the text."""
    rule = _compile(index)
    for match in rule.pattern.finditer(text, start, end):
        group = rule.group or next((n for n, g in enumerate(match.groups(), 1) if g), 0)
        if _is_secret(rule, match, group):
            yield Span(*match.span(group), rule.kind)


def _is_secret(rule: UpstreamRule, match: re.Match[str], group: int) -> bool:
    value = match[group]
    if entropy(value) <= rule.least_entropy or placeholders.is_placeholder(value):
        return False
    if any(pattern.search(value) for pattern in rule.unless):
        return False
    if not all(pattern.search(value) for pattern in rule.only):
        return False
    if not rule.by_vendor:
        return not is_slug(value)
    label = match.string[match.start() : match.start(group)]
    return (
        has_digit(value)
        and entropy(value) > 2.5
        and not is_slug(value)
        and not _PUBLIC.search(label)
    )
