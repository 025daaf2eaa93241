"""Tell a rule from a wish of the moment.

"Do not ask anymore" and "make the font bigger" belong to their moment. A sentence holds longer
if it says so (always, from now on, in this project, we never), or if it names a case, a
reason, or what to do otherwise.
"""

from __future__ import annotations

import re

from ace.rules.feedback import sentences
from ace.rules.feedback.directives import Directive

_SAYS_SO = re.compile(
    r"\b(?:always|never|every ?time|each time|whenever|from now on|going forward|by default"
    r"|in (?:the |all )?future|next time|for (?:the )?(?:record|future)|as a rule|in general"
    r"|(?:in|for|on|at) (?:this|our|the) (?:repo\w{0,10}|project|code ?base|team|company"
    r"|organi[sz]ation|service)|we (?:don['\u2019]?t|do not|only|prefer|agreed|usually"
    r"|generally)|everyone here|conventions?|polic(?:y|ies)|rules?|guidelines?"
    r"|prefer(?:red|ably)?|rather you|i like|ideally|better|safer|important|essential"
    r"|remember|keep in mind|stick to|as usual)\b",
    re.IGNORECASE,
)
_NAMES_CASE = re.compile(
    r"\b(?:every|each|any|all|no more|avoid|stop|refrain|(?:don['\u2019]?t|do not|dont)"
    r"|when|if|before|after|until|unless|while|once|because|since|otherwise|so that"
    r"|instead of|rather than|together with|only|not)\b|;|: |, (?:it|they|this) "
    # "in reports", "for new customers": a kind of thing, not one thing
    r"|\b(?:in|for|on|from|out of|of|to) (?!(?:the|this|these|those|your|my|its)\b)"
    r"(?:[a-z-]{2,20} ){0,2}[a-z-]{2,20}[a-z]s\b",
    re.IGNORECASE,
)
# The subject is a thing, so that the sentence is about how things are to be.
_STATEMENT = re.compile(
    r"\b(?:should(?:n['\u2019]?t)?|must(?:n['\u2019]?t)?|(?:needs?|ha(?:s|ve)|ought) to|shall)\b",
    re.IGNORECASE,
)
_OF_A_MOMENT = re.compile(
    r"\b(?:anymore|any more|right now|just now|for now|now|today|yet|the (?:ones?|latter|rest)"
    r"|(?:line|on) \d{1,6}|option \w)\b",
    re.IGNORECASE,
)


def is_lasting(directive: Directive, *, is_about_call: bool) -> bool:
    """Return whether the sentence is a rule.

    What a person says when they reject a call is about that call, unless it says otherwise.
    """
    sentence = sentences.clean(directive.sentence)
    if directive.kind in ("worked", "next_time") or _SAYS_SO.search(sentence):
        return True
    if is_about_call or _OF_A_MOMENT.search(directive.content):
        return False
    if directive.kind == "preference" or _NAMES_CASE.search(sentence):
        return True
    return bool(_STATEMENT.search(sentence))
