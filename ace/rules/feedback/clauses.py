"""Split a sentence into clauses, and drop greetings and hedges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

MAX_CLAUSES = 4

_LEAD = re.compile(
    r"(?:(?:please|also|but|and|so|then|instead(?! of)|therefore|thus|however|additionally"
    r"|furthermore|moreover|finally|overall|similarly|in summary|note|lessons? learn(?:ed|t)"
    r"|lesson|tip|rule|hint|reminder"
    r"|(?:for )?next time|in (?:the )?future|from now on|going forward|in general"
    r"|as a result|to do (?:so|this)|as a rule|for the future|next"
    r"|works?,? but|good,? but|great,? but|(?:well|nice) (?:done|work),? but"
    r"|maybe|perhaps|possibly|imo|imho|tbh|fyi|hmm?|nit|nitpick|btw|ps|actually|personally|if possible|let['\u2019]s"
    r"|i(?:['\u2019]d)? (?:think|guess|feel|believe|say|suggest|recommend|propose|advise)"
    r"(?: that| to)?|if i may(?: suggest(?: something)?)?|just so you know|as a reminder"
    r"|(?:for|as a) (?:future )?(?:reference|info|the record)|in my opinion|kindly|just)\b"
    r"[ ]?[,:;!-]{0,2}[ ]{1,4}|(?:no|nope|yes|ok|okay|hi|hey|hello|sorry|thanks|thank you"
    r"|well|wow|oh|perfect|great|excellent|good|nice|awesome|wonderful|cool|super|brilliant"
    r"|wrong|approved|lgtm)\b[ ]?[,:;!-]{1,3}[ ]{1,4}){1,4}",
    re.IGNORECASE,
)
_PURPOSE = re.compile(
    r"(?:to (?:fix|overcome|address|resolve|correct|solve|avoid|improve) "
    r"(?:this|these|the|that|it)\b[^,\n]{0,60},[ ]{0,2})",
    re.IGNORECASE,
)
MARK = re.compile(
    r"(?:: | [-\u2013\u2014]{1,2} |; |,? (?:but|however|though|although)(?: please)?,? "
    r"|,? except (?:that |for one thing[,:] )|, (?=(?:you|we) (?:must|should|need to|have to) )"
    r"|, (?=(?:please|next time|never|always|avoid|make sure|don['\u2019]t|do not)\b)"
    r"| (?=please (?!find|see|note|let|advise|help)[a-z-]{2,20} )"
    r"|, (?=(?:catch|use|call|check|read|write|pass) [`\"])"
    r"|, (?=(?:the|your|our|all|every|each) (?:[\w-]{1,20} ){1,3}(?:must|should|has to|have to"
    r"|needs?) ))",
    re.IGNORECASE,
)
OPENING = re.compile(
    r"(?:if|when|whenever|for|in|before|after|once|instead of|rather than|on|at|with|while"
    r"|during)\b(?:[^,\n]{2,200}, |[^,\n]{2,60} (?=(?:always|never) [a-z]))",
    re.IGNORECASE,
)


def split(sentence: str) -> Iterator[str]:
    """Yield the sentence without its greeting, then each part after a colon, a dash or "but"."""
    text = without_lead(sentence)
    yield text
    if OPENING.match(text):
        # An opening case ("When X, …") applies to the whole sentence, so do not split.
        return
    for mark in islice(MARK.finditer(text), MAX_CLAUSES):
        if text.count("`", 0, mark.start()) % 2 == 0:
            yield without_lead(text[mark.end() :])


def without_lead(text: str) -> str:
    lead = _LEAD.match(text)
    text = text[lead.end() :] if lead else text
    purpose = _PURPOSE.match(text)
    return text[purpose.end() :] if purpose else text
