"""Find the words in a text that say how something ended. Negated words are recognised."""

from __future__ import annotations

import re
from typing import Literal

Verdict = Literal["success", "partial", "failure"]

# In characters. A long text has its verdict at its beginning or at its end.
EDGE = 4_000

_PARTIAL = re.compile(
    r"\b(?:partial(?:ly)?|almost (?:works|there|done|right)|mostly (?:works|right|correct)"
    r"|half(?:way)? (?:works|done)|(?:works|worked)[^.\n]{0,40}"
    r"\b(?:except|but (?:still|not|fails|misses|the \w{1,20} (?:is|are|still)))"
    r"|incomplete|some (?:of (?:the|them) )?(?:\w{1,20} )?(?:still )?fail(?:s|ed)?)\b",
    re.IGNORECASE,
)
_FAILURE = re.compile(
    r"\b(?:(?:does|did|do|is|was|are|could|can|has|have)(?:n['\u2019]?t| not) (?:\w{1,12} )?"
    r"(?:work(?:ing|ed)?|correct|right|fixed?|solved?|pass(?:ed|ing)?|complete[d]?"
    r"|compile|build|run|succeed(?:ed)?|done|finish(?:ed)?|resolved?|reproduce)"
    r"|not (?:fixed|working|solved|correct|resolved|done|acceptable|what i (?:asked|wanted))"
    r"|(?:still|again|now) (?:fails|failing|broken|crashes|wrong|happens|errors)"
    r"|(?<!no )(?<!not )(?<!without )(?:wrong|incorrect|broken|rejected|reverted|failed|fails"
    r"|unsuccessful|useless)|unable to|could not|couldn['\u2019]t|cannot|gave up|no luck"
    r"|doesn['\u2019]t (?:work|help)|broke(?! (?:down|up|into|it)\b)|caused? (?:a |an )?(?:regression|outage|incident))\b",
    re.IGNORECASE,
)
_SUCCESS = re.compile(
    r"\b(?:(?<!not )(?<!n't )(?:works|worked|working(?= (?:now|well|fine|as))|fixed|solved"
    r"|resolved|perfect(?:ly)?|correct(?:ly)?|lgtm|approved|accepted|merged|excellent"
    r"|successful(?:ly)?|succeeded|completed?|done|passes|passed)"
    r"|(?<!not )(?:great|good|nice|well) (?:job|work|done|catch)|looks (?:good|great|right)"
    r"|(?:no|zero|0) (?:errors|failures|problems|issues)|as expected|exactly what"
    r"|(?<!not )(?:great|good|nice|perfect)(?=[,.!]|$)|thank(?:s| you))(?!\w)",
    re.IGNORECASE,
)
# These phrases give no verdict: "fixed width", "the correct approach", "once it works".
_NO_VERDICT = re.compile(
    r"\b(?:fixed[- ](?:width|size|length|point|price)|the (?:correct|right|wrong) \w{1,20}"
    r"|(?:should|must|would|could|might|may|will|to) (?:be |have been )?(?:\w{1,12} )?"
    r"(?:work|works|worked|fixed|solved|resolved|correct|correctly|passed?|completed?|done"
    r"|approved|merged|accepted)|(?:if|once|until|unless|whether|when|before) "
    r"(?:it|this|that|the \w{1,20}) (?:works|worked|passes|passed|fails|failed|is \w{1,12})"
    r"|no longer (?:fails|broken|crashes)|(?:was|were) (?:broken|failing|wrong)"
    r"|fail(?:s|ed|ing)? (?:test|case|login)s?)\b",
    re.IGNORECASE,
)

_WRONG = re.compile(
    r"\b(?:that|this|it|you|which)(?:['\u2019]s| is| was|['\u2019]re| are) (?:just |still |simply "
    r"|completely )?(?:the |a )?(?:wrong|incorrect)\b|^(?:wrong|incorrect)\b",
    re.IGNORECASE | re.MULTILINE,
)
# Ironic praise gives no verdict.
_SARCASM = re.compile(
    r"\b(?:oh|wow)[,!. ]{1,3}(?:great|wonderful|fantastic|perfect|nice|brilliant|thanks|lovely)"
    r"\b|\bthanks for nothing\b|\b(?:great|brilliant|perfect|fantastic)\. not\b",
    re.IGNORECASE,
)


def find(text: str) -> list[tuple[Verdict, str]]:
    """Return each kind of verdict in the text once, with its words.

    If a text says "partially", that is its only verdict. "No longer fails" alone is not a
    success.
    """
    edges = text if len(text) <= 2 * EDGE else f"{text[:EDGE]}\n{text[-EDGE:]}"
    if _is_code(edges):
        return []
    if found := _PARTIAL.search(edges):
        return [("partial", found[0][:60])]
    if _SARCASM.search(edges):
        return []
    if found := _WRONG.search(edges):
        return [("failure", found[0][:60])]
    plain = _NO_VERDICT.sub(" , ", edges)
    bad, rest = _FAILURE.search(plain), _FAILURE.sub(" ", plain)
    good = _SUCCESS.search(rest)
    verdicts: list[tuple[Verdict, str]] = []
    if good:
        verdicts.append(("success", good[0][:60]))
    if bad:
        verdicts.append(("failure", bad[0][:60]))
    return verdicts


_CODE = re.compile(
    r"^(?:diff --git |--- a/|[ \t]{0,8}(?:def|fn|func|class|public|private|use|import|from"
    r"|return|let|const|var|#include) )",
    re.MULTILINE,
)


def _is_code(text: str) -> bool:
    """Return whether the text is code. The words of code give no verdict."""
    return bool(_CODE.search(text))
