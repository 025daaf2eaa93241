"""Patterns and words by which the gates read the text of a lesson."""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SENTENCE_BREAK = re.compile(
    r"(?<=[.!?])\s++(?=[^a-z\s])|(?<=[\u3002\uff01\uff1f])\s*+(?=.)|(?<!\s)[^\S\n]*+\n\s*+"
)
LIST_ITEM = re.compile(r"^[^\S\n]*(?:[-*•]|\d+[.)])\s+\S", re.MULTILINE)

VAGUE = frozenset(
    re.findall(
        r"\S+",
        """
    a an the this that these those it its they them their there here you your we our i
    is are was were be been being am do does did done doing has have had having will
    would can could may might must should shall need needs needed ought to of in on at by
    for from with without into onto over about as than then so and or but nor not no if
    when while before after until because since unless whether which who what where how
    why all any each every some most more less much many few other another such same own
    only just also too very really quite even still again ever never always often usually
    sure make makes making keep keeps be careful carefully caution attention pay extra
    good better best great proper properly correct correctly right wrong well bad clean
    clear clearly simple careful thorough thoroughly robust robustly efficient efficiently
    important essential necessary quality effective readable maintainable appropriate
    appropriately relevant reliable reliably complete completely accurate accurately
    double triple check checks checked checking recheck verify verified verifying validate
    ensure ensures ensuring confirm review reviewed reviewing test tests tested testing
    think thinking try trying remember consider considering understand understanding read
    reading look follow following use using work works working write writing learn avoid
    avoids avoiding handle handles handling fix fixing solve solving improve improving
    code codes coding program software application solution solutions approach approaches
    problem problems issue issues bug bugs error errors mistake mistakes failure failures
    exception exceptions practice practices thing things something anything everything way
    ways task tasks step steps result results output outputs input inputs answer answers
    case cases edge edges requirement requirements instruction instructions detail details
    documentation docs document information context question questions user users goal
    change changes changing changed data assumption assumptions assume job time times
    start finish finishing submit submitting first last next final once one two twice
    """,
    )
)

# Only capital letters match, because "may 5" is no date.
_MONTHS = (
    "(?-i:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    "|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_RECORDS = (
    "reservation|booking|ticket|invoice|customer|account|certificate|passenger|flight"
    "|transaction|payment|gift card|credit card|conversation|passport"
)
_CODE = r"[\"'`*#(]{0,3}(?-i:(?=[A-Z0-9_-]*\d\d)[A-Z0-9][A-Z0-9_-]{3,})\b"
# Text in brackets after "e.g." only illustrates the rule.
EXAMPLE = re.compile(
    r"\((?:e\.g\.|i\.e\.|for example|for instance|such as|like)[^)\n]{0,200}\)"
)
ONE_OFFS = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("an id", r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
        ("a user", r"\b(?!utf_|iso_)[a-z]{2,}_[a-z]{2,}_\d{3,}\b"),
        ("a person's address", r"\b[\w.+-]{1,64}@[\w-]{1,64}\.(?!py\b)[a-z]{2,10}\b"),
        (
            "one record",
            rf"\b(?:{_RECORDS})s?(?:[ _-]?id|[ _-]?number|[ _-]?no\.?)?(?: is|:|=)?"
            rf"\s{{0,2}}{_CODE}",
        ),
        (
            "one record",
            rf"\b\w{{2,20}}[ _-](?:id|number|no\.)(?: is|:|=)?\s{{0,2}}{_CODE}",
        ),
        (
            "one record",
            r"\b(?:reservation|booking|confirmation)(?: id| number| code)?(?: is|:)?"
            r"\s{1,2}[\"'`*(]{0,3}(?-i:[A-Z]{6})\b",
        ),
        (
            "a long number",
            r"\b(?:id|number|ending in|#)[\s:=#]{1,3}\d{4,}\b|\b\d{9,}\b",
        ),
        (
            "a date",
            r"(?<!format )(?<!e\.g\. )(?<!like )\b(?:19|20)\d\d-\d\d-\d\d\b"
            rf"|\b(?:{_MONTHS})\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?!\s*%)"
            rf"|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTHS})\b",
        ),
        ("a commit", r"\bcommit [0-9a-f]{7,40}\b|\b[0-9a-f]{40}\b"),
        ("a temporary path", r"/tmp/[\w./-]{1,80}\d[\w./-]{0,80}"),
    )
)


def sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE_BREAK.split(text.strip()) if part]
