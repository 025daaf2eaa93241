"""Find personal data in a text that is about to be kept as a fact.

The patterns are wide on purpose: a false alarm costs one fact, and a miss keeps somebody's
data (docs/decisions/0034). `tests/agents/test_personal_data_check.py` has tables of texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

from common.text.normalise import normalise
from common.text.text_tables import read_groups
from common.text.visible import drop_invisible


class PersonalData(StrEnum):
    """The kinds of personal data that no fact keeps."""

    EMAIL = "email_address"
    CARD = "card_number"
    PHONE = "phone_number"
    IDENTIFIER = "personal_identifier"
    NAMED = "name_beside_identifier"
    ADDRESS = "street_address"
    SPECIAL = "special_category"


# Dashes and minus signs with which people write numbers.
_DASHES = re.compile("[\u2010-\u2015\u2212]")
_EMAIL = re.compile(
    r"[\w.+%'-]{1,64}(?:@| ?[\[(] ?at ?[\])] ?)[\w-]{1,63}"
    r"(?:(?:\.| ?[\[(] ?dot ?[\])] ?)[\w-]{1,63}){0,5}"
    r"(?:\.| ?[\[(] ?dot ?[\])] ?)[^\W\d_]{2,24}\b(?P<path>:)?",
    re.IGNORECASE,
)
_DIGIT_RUN = re.compile(r"(?<!\d)(?<!\d[ .-])\d+(?:[ .-]\d+)*+")
# ISO/IEC 7812: a card number has 12 to 19 digits; those in use have 13 at least, and payment
# cards begin with 2 to 6. So the milliseconds of a time, which begin with 1, are none.
_CARD_LENGTHS = range(13, 20)
_CARD_STARTS = "23456"

_SPACING = r"[ ().\-/]{0,3}"
# ITU-T E.164: a country's code and a number have 15 digits at most.
_PHONES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\w.+])\+[1-9](?:{_SPACING}\d){{6,14}}(?!\d)",
        rf"(?<![\w.+-])00[1-9](?:{_SPACING}\d){{8,13}}(?!\d)",
        # North America: (212) 555-0123.
        r"(?<![\w.-])(?:1[-. ])?(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}(?![\w-]|\.\d)",
        # A trunk prefix, as in 030 901820 or 0171/1234567.
        r"(?<![\w.,:-])0\d{2,4}[ /-]\d{5,8}(?![\w:-]|\.\d)",
        r"\b(?:phone|telephone|telefon|tel|mobile|cell|cellphone|fax|call|dial|whatsapp|sms"
        r"|hotline|handy)\b[^\n\d+]{0,30}(?!\d{4}-\d\d-\d\d)\+?\d"
        rf"(?:{_SPACING}\d){{5,14}}(?!\d)",
    )
)
_SOCIAL_SECURITY = re.compile(r"(?<![\w.-])\d{3}-\d{2}-\d{4}(?![\w-])")
_IBAN = re.compile(
    r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?![A-Z0-9])"
)

_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?!\s)[^.!?\n]*)*+[.!?\n]?")
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['\u2019-](?=[^\W\d_]))*+")
_GROUPS = read_groups(Path(__file__).parent / "words" / "name_words.txt")
_TITLES, _ROLES = _GROUPS["titles"], _GROUPS["roles"]
_NO_NAMES = frozenset().union(*_GROUPS.values())
_MAX_NAME_GAP = 25  # characters between a name and an identifier without a label
_LABELS = (
    r"passport|identity|id|id card|driver'?s? licen[cs]e|licen[cs]e|social security|ssn|tax|vat"
    r"|national insurance|insurance|customer|client|patient|employee|staff|personnel|member"
    r"|membership|account|policy|reservation|booking|order|invoice|ticket|student|passenger"
    r"|user|case|loyalty|badge|subscriber|personal|serial|contract|file"
)
_IDENTIFIERS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:{_LABELS})(?:[ _-](?:id|number|no|nr|code))?\.?[ :=#]{{0,3}}(?:is |was |of )?"
        r"[\"'`#(]{0,2}(?=[\w-]{0,12}\d)[\w-]{3,40}",
        r"\b(?:born (?:on|in)|birthday|date of birth|dob|birth date)\b[^\n\d]{0,20}\d",
        r"\b(?:lives|living|resides|address)\b[^\n\d]{0,60}\d",
    )
)
_LONG_NUMBER = re.compile(
    r"(?<![\w.])(?:[A-Z]{0,4}-?\d(?:[ -]?\d){5,18}|(?=[A-Z]{1,9}\d)(?=(?:[A-Z]{0,9}\d){3})"
    r"[A-Z0-9]{6,20})(?![\w]|\.\d)"
)
_TITLE_DOT = re.compile(r"\b(Mrs?|Ms|Dr|Prof|St)\.", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-?\d\d-?\d\d$")


# The number of a house, and none of a size or a count.
_HOUSE = r"\b\d{1,5}[a-z]?,? (?!(?:[kmgtp]i?b|[kmgt]?hz|bytes?|bits?|[nmµ]?s|min|h|x|times|px|rpm)\b)"
_SMALL_STREETS = r"lane|ln|drive|dr|court|square|terrace|crescent"
# A street and the number of a house, in the order of each language.
_STREETS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b[^\W\d_]{2,30}(?:stra(?:ss|ß)e|str\.|gasse|allee|straat|laan|gracht|gatan|vägen|gade|vej)"
        r",? \d{1,4}(?: ?[a-z])?\b(?!\.\d)",
        r"\b[^\W\d_]{2,30}[ -](?:straße|strasse|str\.|weg|platz|allee|sokak|sokağ.|caddesi|cad\.|mahallesi)"
        r",? (?:no:? ?)?\d{1,4}(?: ?[a-z])?\b(?!\.\d)",
        # A street has a name; `2 TB hard drive`, `1 fast lane` and `2 weeks down the road` have none.
        rf"{_HOUSE}(?-i:(?:[A-ZÀ-Þ][^\W\d_]{{0,19}}\.? ){{1,3}}(?i:street|st|road|rd|avenue|ave|boulevard|blvd)\b)",
        rf"{_HOUSE}(?-i:(?:[A-ZÀ-Þ][^\W\d_]{{0,19}}\.? ){{1,3}}(?=[A-Z])(?i:{_SMALL_STREETS})\b)",
        rf"{_HOUSE}(?!way )[^\W\d_]{{2,20}} (?:street|road|avenue|boulevard)\b",
        r"\b(?:lives?|living|resides?|address|moved)\b[^\n\d]{0,30}"
        rf"{_HOUSE}(?:[^\W\d_]{{1,20}} ){{1,3}}(?:{_SMALL_STREETS})\b",
        r"\b\d{1,5}(?: ?bis| ?ter)?,? (?:rue|avenue|boulevard|impasse|allée|chemin|quai) [^\W\d_]",
        # In English, `via` is no street: `deploys go via Docker Compose 2`, `log in via OAuth 2`.
        r"(?:\b(?:(?!(?:come|came|go)\b)[^\W\d_]{0,20}[aeioàèéìòù] (?:in|a|di|nella|presso)"
        r"|(?:lives?|living|resides?|located|moved)(?: at| in| on| to)?"
        r"|(?:ufficio|sede|indirizzo|address)(?::| is| è)(?: at| in)?) via|(?-i:\bVia))"
        r" (?-i:[A-ZÀ-Þ](?=[^\W\d_]{0,29}[a-zà-ÿ.]))[^\W\d_]{0,29}\.?,? (?:[^\W\d_]{1,30}\.?,? ){0,3}"
        r"(?:n[.º°o]? ?)?\d{1,4}\b(?!\.\d)",
        r"\b(?:viale|corso|piazza|calle|avenida|avda\.?|paseo|rua|travessa|praça|ulica|ul\.|aleja"
        r"|улица|ул\.|улице|проспект|переулок|вулиця|вул\.|вулиці|שדרות|רחוב|شارع)"
        r" (?:[^\W\d_]{1,30}\.?,? ){1,4}(?:n[.º°o]? ?|д\. ?|буд\. ?|дом )?\d{1,4}\b(?!\.\d)",
        r"[路街道巷]\d{1,5}[号號]|\d{1,4}丁目|\d{1,4}番地|[가-힣]{1,10}[로길] ?\d{1,4}(?!\d)",
    )
)
_PERSONAL_WORDS = read_groups(Path(__file__).parent / "words" / "personal_words.txt")
_PEOPLE = _PERSONAL_WORDS["people"]
_SPECIAL = re.compile(
    r"(?<!\w)(?:"
    + "|".join(
        re.escape(entry.rstrip("*")) + (r"\w*" if entry.endswith("*") else r"(?!\w)")
        for entry in sorted(_PERSONAL_WORDS["special"])
    )
    + ")|"
    + "|".join(sorted(_PERSONAL_WORDS["special in any place"])),
    re.IGNORECASE,
)
# Mostly, a service or a setting is disabled.
_DISABLED = re.compile(
    rf"\b(?:{'|'.join(map(re.escape, sorted(_PEOPLE)))}) (?:is|was|are|were|am|became|becomes|has been)"
    r" (?:[^\W\d_]{1,20}ly |also |now )?disabled\b"
    r"|\bdisabled (?:person|people|man|woman|child|son|daughter|wife|husband|partner|mother|father"
    r"|brother|sister|veteran|colleague)\b",
    re.IGNORECASE,
)
# `Anna has …`, `Anna takes …`: one name, and what a person does.
_DOING = re.compile(
    r"(?:^|[.!?] )(?!The|This|That|Each|It|Das|Der|Die|Le|La|El|Il)[A-Z][a-zà-ÿ]+ (?:has|is|was|takes|suffers|hat|ist|a|est|tiene|es|ha|è|tem)\b"
)


def find_personal_data(text: str) -> PersonalData | None:
    """Return the first kind of personal data that a text has, or None.

    Compatibility forms, invisible characters and other dashes do not hide it.
    """
    plain = _DASHES.sub("-", normalise(drop_invisible(text)))
    return next((kind for kind, has in _CHECKS if has(plain)), None)


def _has_email(text: str) -> bool:
    """Whether there is an address; `git@host:path` is that of a repository."""
    return any(
        not (match["path"] and match[0].startswith("git@"))
        for match in _EMAIL.finditer(text)
    )


def _has_card(text: str) -> bool:
    return any(map(_is_card, _numbers(text)))


def _numbers(text: str) -> Iterator[str]:
    """Yield the numbers that neighbouring groups of digits make, of a card's length."""
    for run in _DIGIT_RUN.finditer(text):
        groups = re.findall(r"\d+", run[0])
        for start in range(len(groups)):
            number = ""
            for group in groups[start:]:
                number += group
                if len(number) > _CARD_LENGTHS.stop:
                    break
                if len(number) in _CARD_LENGTHS:
                    yield number


def _is_card(number: str) -> bool:
    return number[0] in _CARD_STARTS and len(set(number)) > 1 and _luhn(number) == 0


def _luhn(number: str) -> int:
    """Return the check sum of ISO/IEC 7812-1, annex B; a valid number has 0."""
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in number[-2::-2]]
    return (sum(map(int, number[::-2])) + sum(doubled)) % 10


def _has_phone(text: str) -> bool:
    return any(pattern.search(text) for pattern in _PHONES)


def _has_identifier(text: str) -> bool:
    """Whether a number names a person or an account by itself."""
    return bool(_SOCIAL_SECURITY.search(text)) or any(
        _is_iban(match[0]) for match in _IBAN.finditer(text)
    )


def _is_iban(text: str) -> bool:
    """Check an account number as ISO 13616 says: modulo 97, letters count from 10."""
    account = text.replace(" ", "")
    digits = "".join(str(int(char, 36)) for char in account[4:] + account[:4])
    return len(account) >= 15 and int(digits) % 97 == 1


def _has_named_identifier(text: str) -> bool:
    plain = _TITLE_DOT.sub(r"\1", text)  # this full stop ends no sentence
    return any(_is_named(sentence[0]) for sentence in _SENTENCE.finditer(plain))


def _is_named(sentence: str) -> bool:
    names = list(_names(sentence))
    if not names:
        return False
    if any(pattern.search(sentence) for pattern in _IDENTIFIERS):
        return True
    return any(
        min(abs(number.start() - end), abs(start - number.end())) <= _MAX_NAME_GAP
        for number in _LONG_NUMBER.finditer(sentence)
        if not _DATE.match(number[0])
        for start, end in names
    )


def _names(sentence: str) -> Iterator[tuple[int, int]]:
    """Yield the places of what may be a person's name.

    It is two words with a capital letter, or one after a title or a role.
    """
    before, last = "", 0
    for word in _WORD.finditer(sentence):
        is_beside = 0 < word.start() - last <= 2
        is_capital = _is_capital(word[0])
        if is_capital and is_beside and before:
            yield last - len(before), word.end()
        title = word[0].casefold()
        is_lead = title in _TITLES or title in _ROLES
        before = word[0] if is_capital or is_lead else ""
        last = word.end()


def _is_capital(word: str) -> bool:
    """Whether a word is written like a name: Anna, O'Neill, McDonald, not NASA or iPhone."""
    small = sum(map(str.islower, word))
    own = word.casefold().removesuffix("'s").removesuffix("\u2019s")
    is_name_like = word[0].isupper() and small >= 1 and small >= len(word) / 2
    return is_name_like and own not in _NO_NAMES


def _has_street(text: str) -> bool:
    return any(pattern.search(text) for pattern in _STREETS)


def _has_special_category(text: str) -> bool:
    """Whether a text tells a person's health, belief, sexuality, or conviction.

    The words of `personal_words.txt` are those by which a machine can see it.
    """
    if _DISABLED.search(text):
        return True
    special = _SPECIAL.search(text)
    if not special:
        return False
    words = re.findall(r"[^\W\d_]+", text.casefold())
    return (
        special[0] in _PERSONAL_WORDS["special in any place"]
        or not _PEOPLE.isdisjoint(words)
        or _DOING.search(text) is not None
        or next(_names(text), None) is not None
    )


_CHECKS: tuple[tuple[PersonalData, Callable[[str], bool]], ...] = (
    (PersonalData.EMAIL, _has_email),
    (PersonalData.CARD, _has_card),
    (PersonalData.IDENTIFIER, _has_identifier),
    (PersonalData.PHONE, _has_phone),
    (PersonalData.NAMED, _has_named_identifier),
    (PersonalData.ADDRESS, _has_street),
    (PersonalData.SPECIAL, _has_special_category),
)
