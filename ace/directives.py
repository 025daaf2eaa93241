"""Sentences of feedback that say how it should be done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_TEXT = 60_000
MAX_SENTENCE = 600
MAX_DIRECTIVES = 60


@dataclass(frozen=True)
class Directive:
    """`feedback[start:end]` is the sentence; `content` the advice it holds.

    `alone` is False when the sentence needs to be told what it speaks of.
    """

    kind: str
    start: int
    end: int
    sentence: str
    content: str
    alone: bool


# A full stop inside `e.g.`, `1.5` or `app.py` ends nothing.
_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?](?=[\s\"')\]]|$)|\n")
_BULLET = re.compile(r"[ \t]{0,20}(?:[-*•>]{1,3}[ \t]{1,8}|\(?\d{1,3}[.)][ \t]{1,8})?[ \t]{0,20}")
_LEAD = re.compile(
    r"(?:(?:please|also|but|and|so|then|instead|therefore|thus|however|additionally"
    r"|furthermore|moreover|finally|overall|in summary|note|lesson|tip|rule|hint|reminder"
    r"|(?:for )?next time|in (?:the )?future|from now on|going forward|in general"
    r"|as a result|to do (?:so|this)|as a rule|for the future|next"
    r"|works?,? but|good,? but|great,? but|(?:well|nice) (?:done|work),? but)\b"
    r"[,:;-]?[ ]{1,4}){1,3}",
    re.IGNORECASE,
)
_PURPOSE = re.compile(
    r"(?:to (?:fix|overcome|address|resolve|correct|solve|avoid|improve) "
    r"(?:this|these|the|that|it)\b[^,\n]{0,60},[ ]{0,2})",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"(?:i|we|you|one|the agent|agents) (?:really |also |therefore )?"
    r"(?P<modal>should|must|need to|needs to|have to|has to|ought to|shall)"
    r"(?P<always> always)?(?P<not> not| never)? (?P<rest>(?!have\b|be\b|of\b)\S[^\n]{0,580})",
    re.IGNORECASE,
)
_MODAL = re.compile(
    r"\b(?:should|must|(?:need|needs|ought|has|have) to|shall|is required to"
    r"|are required to)\b",
    re.IGNORECASE,
)
# Guesses and retellings, no advice.
_EPISTEMIC = re.compile(
    r"\b(?:should (?:work|pass|help|produce|be (?:fine|ok|okay|good|correct|able|enough"
    r"|possible|easy|fixed|reachable|expected|true|false)|now|have (?:returned|been"
    r"|produced|caused|worked|passed|given))|must (?:have|be (?:because|due|that))"
    r"|(?:did not|didn't|does not|doesn't|would|not) (?:have|need) to"
    r"|should (?:it|they) be|what (?:it|they) should|as (?:it|they|required) should"
    r"|than it should|when it should (?:return|be|not)|when they should|where it should"
    r"|which should|but (?:it )?should (?:be|have)|where [^,\n]{0,40} should be"
    r"|(?:this|that|these|the) (?:change|fix|modification)s? (?:should|will))\b",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"(?:always|never|avoid|don['’]t|do not|make sure|ensure|remember to|be sure to"
    r"|be careful|prefer|refrain from|stick to|beware)\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"(?:use|run|call|check|pass|set|add|write|read|keep|put|test|verify|validate|start"
    r"|stop|include|update|create|wrap|escape|close|commit|format|handle|choose|pick|ask"
    r"|look|install|pin|sort|store|wait|retry|log|import|return|open|load|cache|lock"
    r"|consult|confirm|follow|document|mock|split|rename|remove|delete|leave|limit"
    r"|search|treat|consider|compute|convert|parse|quote|rebase|squash|lint|build)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\b(?:instead of|rather than|in favou?r of|not with)\b", re.I)
_WORKED = re.compile(
    r"\b(?:worked (?:very |really )?well|works (?:very |really )?well|was effective"
    r"|paid off|helped (?:a lot)?)\b[^\n]{0,40}?\b(?:because|since|as)\b",
    re.IGNORECASE,
)
_NEXT = re.compile(r"\b(?:next time|in (?:the )?future|from now on|going forward)\b", re.I)
_DEPENDENT = re.compile(
    r"(?:it|this|that|these|those|they|he|she|its|their|here|there|in (?:this|such|that"
    r"|these) (?:case|cases)|the (?:\w{1,20} ){0,3}(?:function|implementation|code|loop"
    r"|condition|algorithm|approach|method|logic|range|result|output|solution|program"
    r"|calculation|check|step|variable|test|input|vector|array|list|string|value|issue"
    r"|problem|error))\b",
    re.IGNORECASE,
)
# A sentence about what is wrong holds advice only in the clause after this.
_CLAUSE = re.compile(
    r"(?:^|[;,] (?:so|and|but|instead|therefore)?,? ?|\bso )"
    r"(?=(?:the (?:\w{1,20} ){0,2}\w{1,20}|it|we|you|i) (?:should|must|need to|needs to"
    r"|has to|have to)\b)",
    re.IGNORECASE,
)


def find(feedback: str) -> list[Directive]:
    """Return the sentences that advise, in order, each with its exact span."""
    found = []
    for start, end in _sentences(feedback[:MAX_TEXT]):
        directive = _read(feedback, start, end)
        if directive:
            found.append(directive)
        if len(found) == MAX_DIRECTIVES:
            break
    return found


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        bullet = _BULLET.match(text, start, end)
        first = bullet.end() if bullet else start
        piece = text[first:end]
        last = first + len(piece.rstrip())
        first += len(piece) - len(piece.lstrip())
        if 0 < last - first <= MAX_SENTENCE:
            yield first, last
        start = end


def _read(feedback: str, start: int, end: int) -> Directive | None:
    sentence = feedback[start:end]
    if sentence.endswith("?"):
        return None
    advice = _advice(sentence)
    kind = _kind(sentence, advice)
    if kind is None or (kind != "worked" and _EPISTEMIC.search(advice)):
        return None
    content = _normalised(advice)
    alone = not _DEPENDENT.match(content)
    return Directive(kind, start, end, sentence, content, alone)


def _advice(sentence: str) -> str:
    """The sentence without its greeting; of a complaint the clause that advises."""
    lead = _LEAD.match(sentence)
    text = sentence[lead.end() :] if lead else sentence
    purpose = _PURPOSE.match(text)
    text = text[purpose.end() :] if purpose else text
    for clause in _CLAUSE.finditer(text):
        if clause.end() and not _IMPERATIVE.match(text):
            return text[clause.end() :]
    return text


def _kind(sentence: str, advice: str) -> str | None:
    if _WORKED.search(sentence):
        return "worked"
    imperative = _IMPERATIVE.match(advice) or _VERB.match(advice)
    advises = imperative or _MODAL.search(advice)
    if _NEXT.search(sentence) and advises:
        return "next_time"
    if _CHOICE.search(advice) and (imperative or _MODAL.search(advice)):
        return "preference"
    if _IMPERATIVE.match(advice) or _MODAL.search(advice):
        return "directive"
    return None


def _normalised(advice: str) -> str:
    """One capital, one full stop; "you must not X" is "Do not X", "we need to X" "X"."""
    text = " ".join(advice.split())
    person = _PERSON.fullmatch(text)
    if person:
        negation = (person["not"] or "").strip().lower()
        lead = {"not": "do not ", "never": "never "}.get(negation, "")
        text = ("always " if person["always"] else "") + lead + person["rest"]
    text = text.rstrip(" .!;,:")
    return f"{text[:1].upper()}{text[1:]}." if text else ""
