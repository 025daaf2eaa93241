"""Find dangerous advice in a text.

The text is read in each of the ways in which a reader may take it (`common.text.variants`).
In each variant, commands, phrases and addresses are looked for. What the sentence forbids,
describes or detects is no advice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache

from common.text.danger import (
    commands,
    disguise,
    hosts,
    look_alike_packages,
    phrases,
    scope,
)
from common.text.danger.word_tables import read_values
from common.text.variants import Variant, find_variants

# A decoded run with three words is a hidden sentence.
_SENTENCE = re.compile(
    r"(?<!\w)[^\W\d_]{2,30}\W{1,3}[^\W\d_]{2,30}\W{1,3}[^\W\d_]{2,30}(?!\w)"
)


MAX_DANGERS = 200  # no reviewer reads more of one text


@dataclass(frozen=True)
class Danger:
    """A dangerous phrase: its kind, its place in the original text, one sentence on it."""

    kind: str
    start: int
    end: int
    message: str


@dataclass(frozen=True)
class Finding:
    """A phrase of one variant. `verb` is the place of what a negation would stand before."""

    kind: str
    start: int
    end: int
    verb: int


def find_dangers(text: str, *, own_hosts: Set[str] = frozenset()) -> tuple[Danger, ...]:
    """Find dangerous advice, in the order of its place, each place once for each kind.

    `own_hosts` are the hosts, or hosts with the beginning of a path, of the project.
    """
    plain, *others = find_variants(text)
    known: dict[str, bytearray] = {}  # places of the plain variant, advised or not
    dangers = [
        Danger("disguise", start, end, _messages()["disguise"])
        for start, end in disguise.find_disguises(text)
    ][:MAX_DANGERS]
    for variant in (plain, *others):
        for finding in _find(variant, own_hosts):
            start, end = variant.origin_span(finding.start, finding.end)
            places = known.setdefault(finding.kind, bytearray(len(text)))
            if variant is plain:
                places[start:end] = b"\1" * (end - start)
            elif any(places[start:end]) and not _says_more(variant, finding):
                continue
            if _is_advice(variant, finding):
                dangers.append(
                    Danger(finding.kind, start, end, _messages()[finding.kind])
                )
            if len(dangers) >= MAX_DANGERS:
                return _merge(dangers)
    return _merge(dangers)


def _find(variant: Variant, own_hosts: Set[str]) -> Iterator[Finding]:
    text = variant.text
    for kind, start, end in commands.find_commands(text):
        if kind != "package_source" or _changes_source(text, start, end, own_hosts):
            yield Finding(kind, start, end, start)
    for start, end in look_alike_packages.find_look_alikes(text):
        yield Finding("package_source", start, end, start)
    for kind, start, end, verb in phrases.find_phrases(text):
        yield Finding(kind, start, end, verb)
    for address in hosts.find_foreign_hosts(text, own_hosts):
        yield Finding("foreign_url", address.start, address.end, address.start)
    if variant.run and _SENTENCE.search(text):
        yield Finding("encoded_text", 0, len(text), 0)


def _changes_source(text: str, start: int, end: int, own_hosts: Set[str]) -> bool:
    """Whether the places from which the command takes code are not all known ones."""
    addresses = hosts.find_addresses(text[start:end])
    return not addresses or not all(
        hosts.is_own(address, own_hosts) or hosts.has_no_code(address.host)
        for address in addresses
    )


def _is_advice(variant: Variant, finding: Finding) -> bool:
    if finding.kind == "encoded_text":
        return True
    return scope.is_advised(variant.text, finding.verb, finding.end, finding.kind)


def _says_more(variant: Variant, finding: Finding) -> bool:
    """Whether what the plain variant has too is more than that: decoded, or reversed."""
    return bool(variant.encoded) or scope.is_reversed(variant.text, finding.verb)


def _merge(dangers: Sequence[Danger]) -> tuple[Danger, ...]:
    """Join dangers of one kind that overlap."""
    merged: dict[str, list[Danger]] = {}
    for danger in sorted(dangers, key=lambda danger: (danger.start, danger.end)):
        found = merged.setdefault(danger.kind, [])
        if found and danger.start < found[-1].end:
            end = max(found[-1].end, danger.end)
            found[-1] = Danger(danger.kind, found[-1].start, end, danger.message)
        else:
            found.append(danger)
    every = [danger for found in merged.values() for danger in found]
    return tuple(sorted(every, key=lambda danger: (danger.start, danger.end)))


@cache
def _messages() -> dict[str, str]:
    return read_values("kinds")
