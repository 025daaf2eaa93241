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

# What holds whatever the task is. "Always" and "never" alone may be about the task's code, as
# in "always fill in 100 %".
_IN_PROJECT = (
    r"(?:in|for|across) (?:this|our|the whole) (?:repo\w{0,10}|project|code ?base|team)"
)
_LASTS = re.compile(
    r"^(?:(?:and|also|but|please|ok|okay),? ){0,3}"
    r"(?:(?:going forward|in (?:the |all )?future|for the future|remember that"
    r"|(?:every ?time|each time|whenever) you|never (?:ever )?again)\b"
    r"|(?:never|don['\u2019]?t ever) [^\n]{0,400}\bagain[ .!]{0,5}$)"
    r"|^(?:(?:and|also|but|please),? ){0,3}(?:always|never|do not|don['\u2019]?t)\b[^\n]{0,400}"
    r"\bin (?:the |all )?future[ .!]{0,5}$"
    r"|\bfrom (?:now|here) on\b|\bgoing forward[ .!]{0,5}$"
    rf"|\b(?:always|never|whenever|every ?time)\b[^\n]{{0,400}}\b{_IN_PROJECT}\b"
    rf"|\b{_IN_PROJECT}\b[^\n]{{0,400}}\b(?:always|never|whenever|every ?time)\b",
    re.IGNORECASE,
)
# "Add a test so that it never breaks again" is a task; "never mind" is none.
_SERVES_TASK = re.compile(
    r"\bso (?:that )?(?:we|you|it|they|this|that|the|i)\b|^never ?mind\b", re.IGNORECASE
)
# Somebody else's words, or those of the code; at most this many characters of a paragraph.
_QUOTED = re.compile(
    r"```(?:[^`]|`(?!``)){0,3000}```"
    r"|\"(?:[^\"\n]|\n(?!\n)){0,600}\"|\u201c(?:[^\u201d\n]|\n(?!\n)){0,600}\u201d"
    r"|`[^`\n]{0,600}`|(?<!\w)(?:'[^'\n]{0,600}'|\u2018[^\u2019\n]{0,600}\u2019)(?!\w)"
)


def blank_quotes(text: str) -> str:
    """Return the text, of the same length, with spaces for what it quotes."""
    return _QUOTED.sub(lambda match: " " * len(match[0]), text)


def says_that_it_lasts(sentence: str) -> bool:
    """Return whether a sentence says by itself that it holds after its task."""
    text = sentences.clean(sentence).strip()
    return bool(_LASTS.search(text)) and not _SERVES_TASK.search(text)


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
