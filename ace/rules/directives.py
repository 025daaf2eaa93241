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
_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?:[.?]|(?<=[a-z])!)(?=[\s\"')\]]|$)|\n"
)
_BULLET = re.compile(
    r"[ \t]{0,20}(?:[-*\u2022>]{1,3}[ \t]{1,8}|\(?\d{1,3}[.)][ \t]{1,8})?[ \t]{0,20}"
)
_LEAD = re.compile(
    r"(?:(?:please|also|but|and|so|then|instead|therefore|thus|however|additionally"
    r"|furthermore|moreover|finally|overall|similarly|in summary|note|lessons? learn(?:ed|t)"
    r"|lesson|tip|rule|hint|reminder"
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
    r"(?:always|never|avoid|don['\u2019]t|do not|make sure|ensure|remember (?:to|that)|be sure to"
    r"|be careful|prefer|refrain from|stick to|beware)\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"(?:use|run|call|check|pass|set|add|write|read|keep|put|test|verify|validate|start"
    r"|stop|include|update|create|wrap|escape|close|commit|format|handle|choose|pick|ask"
    r"|look|install|pin|sort|store|wait|retry|log|import|return|open|load|cache|lock"
    r"|consult|confirm|follow|document|mock|split|rename|remove|delete|leave|limit"
    r"|search|treat|consider|compute|convert|parse|quote|rebase|squash|lint|build|refresh"
    r"|restart|reset|rotate|upgrade|downgrade|migrate|reuse|enable|disable|increase|reduce"
    r"|define|declare|move|regenerate|restore|rerun|re-run|review|document|encode|decode"
    r"|fetch|query|filter|batch|paginate|specify|provide|give|take|make|apply|configure)\b"
    # "Run finished", "Use of", "Check: passed" report.
    r"(?! (?:finished|passed|failed|completed|succeeded|of|is|was|were|took|results?|has"
    r"|have)\b|s\b|:)",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\b(?:instead of|rather than|in favou?r of|not with)\b", re.I)
_WORKED = re.compile(
    r"\b(?:worked (?:very |really )?well|works (?:very |really )?well|was effective"
    r"|paid off|helped (?:a lot)?)\b[^\n]{0,40}?\b(?:because|since|as)\b",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"\b(?:next time|in (?:the )?future|from now on|going forward)\b", re.I
)
_DEPENDENT = re.compile(
    r"(?:it|its|their|the (?:\w{1,20} ){0,3}(?:function|implementation|code|loop"
    r"|condition|algorithm|approach|method|logic|range|result|output|solution|program"
    r"|calculation|check|step|variable|test|input|vector|array|list|string|value|issue"
    r"|problem|error))\b",
    re.IGNORECASE,
)
# What these point at stands in another sentence.
_LOST = re.compile(
    r"^(?:this|that|these|those|here|there|he|she|they)\b(?! (?:project|repo\w{0,10}|code ?base"
    r"|team|package|service|app)\b)|\bin (?:this|such|that|these|those) cases?\b",
    re.IGNORECASE,
)
# A complaint may end in advice: "it drops the zone, so it should keep it".
_CLAUSE = re.compile(
    r"(?:[;,] (?:so|and|but|instead|therefore),? |; )"
    r"(?=(?:the (?:\w{1,20} ){0,2}\w{1,20}|it|we|you|i) (?:should|must|need to|needs to"
    r"|has to|have to)\b)",
    re.IGNORECASE,
)
# Advice may end in a complaint.
_TAIL = re.compile(
    r",? (?:but|and|which|while|whereas|although) (?:it|the (?:current |given |provided )?"
    r"(?:implementation|code|function|solution)|currently|this)\b[^\n]{0,400}$",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"(?:if|when|whenever|for|in|before|after|once)\b[^,\n]{2,200}, ", re.I
)
# A modal behind one of these retells: "does not see that X must be Y".
_RETELLING = re.compile(
    r"\b(?:does ?n[o']t|do ?n[o']t|did ?n[o']t|is (?:incorrect|wrong)|because|while|when|where"
    r"|which|whereas|the fact that|cases|leads? to|causes?|without|suggests?|implies"
    r"|assum\w{1,4}|thought|indicates?|even though|although)\b",
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
    if _LOST.search(content):
        return None
    alone = not _DEPENDENT.match(content)
    return Directive(kind, start, end, sentence, content, alone)


def _advice(sentence: str) -> str:
    """The sentence without its greeting; of a complaint the clause that advises."""
    lead = _LEAD.match(sentence)
    text = sentence[lead.end() :] if lead else sentence
    purpose = _PURPOSE.match(text)
    text = text[purpose.end() :] if purpose else text
    clause = _CLAUSE.search(text)
    if clause and not _IMPERATIVE.match(text) and not _OPENING.match(text):
        text = text[clause.end() :]
    return _TAIL.sub("", text) if _MODAL.search(_TAIL.sub("", text)) else text


def _kind(sentence: str, advice: str) -> str | None:
    if _WORKED.search(sentence):
        return "worked"
    opening = _OPENING.match(advice)
    main = advice[opening.end() :] if opening else advice
    commands = _IMPERATIVE.match(main)
    names = _VERB.match(main)
    if not commands and not names and not _is_modal(main):
        return None
    if _NEXT.search(sentence):
        return "next_time"
    if _CHOICE.search(main):
        return "preference"
    return "directive"


def _is_modal(main: str) -> bool:
    modal = _MODAL.search(main)
    return bool(modal and not _RETELLING.search(main[: modal.start()]))


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
