"""Tell whether a text gives an instruction to its reader, or forges part of a prompt.

A fact says what is. What says what to do would act on every later invocation that recalls it.
"""

from __future__ import annotations

import re
from pathlib import Path

from common.text import sentences
from common.text.danger import find_dangers
from common.text.prompt_injection import find_injections
from common.text.text_tables import read_lines
from common.text.visible import drop_invisible

# Labels of the agent's own protocol, and lines like those of a fence.
_FORGED = re.compile(
    r"(?:^|[.!?\n|>])\s{0,3}[\W_]{0,4}(?:thought|action|args|action input|observation"
    r"|final answer|tool result|conversation history|long-term facts|working memory)\s{0,3}:"
    r"|={4,}|^\s{0,3}(?:`{3,}|~{3,}|-{3,}|#{1,6} )",
    re.IGNORECASE | re.MULTILINE,
)
_LEAD = re.compile(
    r"(?:please|kindly|also|so|then|therefore|hence|and|but|now|first|next|finally|note"
    r"|important|remember|reminder|rule|policy|instruction|hint|tip|warning|attention"
    r"|dear (?:agent|assistant|reader)|agent|assistant|in (?:the )?future|going forward"
    r"|next time|from now on|as (?:a|an) \w{1,20}|for (?:each|every|all|any) \w{1,20}"
    r"|(?:if|when|whenever|before|after|unless|once|while) [^,\n]{1,120})[ ,:;\-]{1,3}",
    re.IGNORECASE,
)
_MAX_LEADS = 4
_STARTS = re.compile(
    r"(?:always|never|do not|don['\u2019]t|must|make sure|be sure|be careful|refrain from"
    r"|let['\u2019]?s?|you|no longer|it is (?:required|mandatory|necessary) (?:to|that))\b",
    re.IGNORECASE,
)
# These verbs begin an order, whatever follows: nobody begins a report with them.
_WORDS = Path(__file__).parent / "words"
_ORDERS = frozenset(read_lines(_WORDS / "order_verbs.txt"))
# The other verbs that begin an instruction. "Have", "see" and "know" begin a report.
_BASE_VERBS = frozenset(read_lines(_WORDS / "base_verbs.txt"))
# After a verb that is a noun too, an object shows that it is an order: "list the", "book a".
_OBJECT = re.compile(
    r"(?:the|a|an|all|every|each|any|your|our|my|their|his|her|it|them|only|both|no|this"
    r"|these|that|those|to|me|us|everything|everyone|nothing)\b|[`\"'(]",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"^\W{0,4}\w{1,20} (?:\w{1,20} ){0,3}(?:is|are|was|were|has|have|had|does|did|takes?)\b",
    re.IGNORECASE,
)
_READER = (
    r"(?:you|(?:the |an? |any |all |every |this )?(?:ai |llm |language )?"
    r"(?:agents?|assistants?|models?|bots?|chatbots?|ai))"
)
_DUTY = re.compile(
    rf"\b{_READER} (?:must|should|shall|ought to|have to|has to|needs? to|can now|may now"
    r"|(?:is|are|am) (?:now |hereby )?(?:allowed|authori[sz]ed|permitted|required|expected"
    r"|supposed|obliged|instructed|ordered|free|to)\b)",
    re.IGNORECASE,
)
_FROM_NOW = re.compile(
    r"\b(?:from now on|until further notice|without (?:asking|telling|informing|(?:an? |any"
    r" |further )?(?:confirmation|approval|review|questions?|person|human))|no (?:confirmation|approval) (?:is )?(?:needed"
    r"|required|necessary))\b",
    re.IGNORECASE,
)
# A permission of the agent is no fact, whoever reports it.
_GRANT = re.compile(
    rf"\b(?:authori[sz]e[sd]?|allow(?:s|ed)?|permit(?:s|ted)?|empower(?:s|ed)?|entitle[sd]?"
    rf"|enables?|enabled|lets?) {_READER} to\b",
    re.IGNORECASE,
)
# What somebody wants of the agent; only the user's own words may say it.
_WISH = re.compile(
    r"\b(?:wants?|wishes|asks?|asked|expects?|likes?|prefers?|tells?|told|instructs?"
    rf"|instructed|orders?|ordered|requires?|requests?|requested) {_READER} (?:to|not to)\b",
    re.IGNORECASE,
)


def is_instruction(text: str, *, is_users_word: bool = False) -> bool:
    """Return whether a text orders, allows or forges something.

    With `is_users_word`, a text may report what the user wants of the agent.
    """
    plain = drop_invisible(text)
    if any(each.search(plain) for each in (_FORGED, _DUTY, _GRANT, _FROM_NOW)):
        return True
    if not is_users_word and _WISH.search(plain):
        return True
    if any(_is_order(plain[start:end]) for start, end in sentences.split(plain)):
        return True
    return bool(find_injections(text) or find_dangers(text))


def _is_order(sentence: str) -> bool:
    main = sentence.lstrip(" \t\"'`*_([>-\u2022\u201c\u2018")
    for _ in range(_MAX_LEADS):
        lead = _LEAD.match(main)
        if lead is None:
            break
        main = main[lead.end() :]
    if _STARTS.match(main):
        return not main.casefold().startswith("you ") or bool(_DUTY.match(main))
    first, _, rest = main.partition(" ")
    verb = first.strip(".,:;!?").casefold()
    if verb in _ORDERS:
        return not _REPORT.match(main)
    return verb in _BASE_VERBS and bool(_OBJECT.match(rest))
