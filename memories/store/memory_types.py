"""Classify a text as one of the six memory types.

The choice depends on whole words.
"""

from __future__ import annotations

import re
from typing import Literal

MemoryType = Literal[
    "error_fix", "discovery", "decision", "learning", "warning", "codebase_knowledge"
]

MAX_TEXT = 6_000  # in characters; the start of a text is enough to classify the text


def whole_words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE)


# Phrases which say that there is no trouble: "0 errors", "no warnings", "error-free".
ABSENCE = whole_words(
    r"(?:0|no|zero|without(?: any)?|free of|any) (?:known |new |further )?"
    r"(?:errors?|bugs?|issues?|failures?|warnings?|problems?|regressions?|crashes)"
    r"|error[- ](?:free|handling|handler|handlers|message|messages|codes?|pages?)"
    r"|bug[- ](?:free|reports?|tracker)|issue[- ]tracker|fixed[- ](?:width|size|price"
    r"|length|point|cost)|crash[- ]course|(?:not|never) (?:a|an) (?:bug|error|issue)"
)
FIX_GOAL = whole_words(
    r"fix|fixes|fixing|fixed|hotfix|bugfix|debug|debugging|repair|resolve|resolving"
    r"|patch|unbreak|troubleshoot|(?:solving|solve) (?:the following |this |an? )?issue"
)
TROUBLE = whole_words(
    r"bugs?|errors?|exceptions?|crash(?:es|ed|ing)?|fails|failing|failed|failures?"
    r"|broken|breaks|traceback|regressions?|flaky|deadlocks?|(?:memory )?leaks?"
    r"|stack ?trace|wrong result|doesn't work|does not work|not working|stopped working"
    r"|incorrect(?:ly)?"
)
FIX_DONE = whole_words(
    r"fixed|resolved|repaired|patched|corrected|fix(?:es)? (?:the|a|this|an)"
    r"|(?:the|this|a) fix|solved|now (?:works|passes|pass)|no longer (?:fails|crashes)"
)
WARNING = whole_words(
    r"warning|caution|beware|careful|danger(?:ous)?|do not|don't|never|must not"
    r"|avoid|deprecated|insecure|vulnerab(?:le|ility|ilities)|data loss|risky|watch out"
    r"|unsafe|pitfall|gotcha|breaking change"
)
DECISION = whole_words(
    r"decid(?:e|ed|ing)|decisions?|chose|choose|choosing|chosen|opted|opt for|adopt(?:ed)?"
    r"|trade-?offs?|settled on|picked|agreed (?:on|to)|ADR|we will use|went with"
    r"|standardi[sz]e on|prefer(?:red)?"
)
DISCOVERY = whole_words(
    r"discover(?:ed|y|ies)?|found (?:out|that)|turns out|turned out|investigat(?:e|ed|ing"
    r"|ion)|root cause|identified|reveal(?:s|ed)|noticed|research(?:ed)?|explor(?:e|ed"
    r"|ing)|profil(?:e|ed|ing)|analy[sz](?:e|ed|ing)|analysis|figured out|measured"
    r"|diagnos(?:e|ed|is)|undocumented|actually (?:uses|returns|is)"
)
CODEBASE = whole_words(
    r"explain|document(?:ed|ing)?|understand|where (?:is|are|does|do)"
    r"|how (?:does|do|is|are)|overview|walk ?through|architecture|structure of|code ?base"
    r"|repository layout|(?:is|are) (?:located|defined|implemented|stored) in"
    r"|lives in|live in|entry ?point|module(?:s)? (?:is|are|that)|depends on|consists of"
    r"|is responsible for|map (?:of|the)|summari[sz]e the (?:code|module|repo\w{0,10})"
    r"|diagram|(?:lives|live|sits) under"
)


def classify(content: str) -> MemoryType:
    """Return the memory type of a text that has no context.

    Facts, episodes and notes have no context.
    """
    text = without_absences(content[:MAX_TEXT])
    if FIX_DONE.search(text) and (TROUBLE.search(text) or FIX_GOAL.match(text)):
        return "error_fix"
    if WARNING.search(text):
        return "warning"
    return type_of_statement(text)


def type_of_statement(text: str) -> MemoryType:
    if DECISION.search(text):
        return "decision"
    if DISCOVERY.search(text):
        return "discovery"
    if TROUBLE.search(text) and FIX_DONE.search(text):
        return "error_fix"
    if CODEBASE.search(text):
        return "codebase_knowledge"
    return "learning"


def without_absences(text: str) -> str:
    return ABSENCE.sub(" ", text)
