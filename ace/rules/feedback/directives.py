"""Find the sentences of feedback that say how work should be done."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ace.rules.feedback import clauses, conversation, requests, sentences, verbs
from ace.rules.feedback.requests import FeedbackRequest

MAX_TEXT = 60_000
MAX_DIRECTIVES = 60


@dataclass(frozen=True)
class Directive:
    """A sentence that gives advice.

    `feedback[start:end]` is the sentence. `content` is the advice in the sentence.
    `is_complete` is False when the subject of the advice is in another sentence.
    """

    kind: str
    start: int
    end: int
    sentence: str
    content: str
    is_complete: bool


_PERSON = re.compile(
    r"(?:i|we|you|one|the agent|agents) (?:really |also |therefore )?"
    r"(?P<modal>should|must|need to|needs to|have to|has to|ought to|shall)"
    r"(?P<always> always)?(?P<not> not| never|n['\u2019]t)? (?P<rest>(?!have\b|be\b|of\b)\S[^\n]{0,580})",
    re.IGNORECASE,
)
_MODAL = re.compile(
    r"\b(?:should|must|(?:need|needs|ought|has|have) to|shall|is required to"
    r"|are required to|(?:must|should) ?n['\u2019]t)\b",
    re.IGNORECASE,
)
# Guesses and reports. They are not advice.
_EPISTEMIC = re.compile(
    r"\b(?:should (?:work|pass|help|produce|be (?:fine|ok|okay|good|correct|able|enough"
    r"|possible|easy|fixed|reachable|expected|true|false)|now|have (?:returned|been"
    r"|produced|caused|worked|passed|given))|must (?:have|be (?:because|due|that))"
    r"|(?:did not|didn't|does not|doesn't|would|not) (?:have|need) to"
    r"|no need to|need(?:n['\u2019]t| not) "
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
    # "Run finished", "Use of" and "Check: passed" are reports.
    r"(?! (?:finished|passed|failed|completed|succeeded|of|is|was|were|took|results?|has"
    r"|have)\b|s\b|:)",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\b(?:instead of|rather than|in favou?r of|not with)\b", re.I)
_WORKED = re.compile(
    r"\b(?:worked(?: (?:very |really )?well)?|works (?:very |really )?well|was effective"
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
    r"|problem|error)(?! [`\"']))\b",
    re.IGNORECASE,
)
# These words refer to something in another sentence.
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
# After one of these words a modal only reports: "does not see that X must be Y".
_RETELLING = re.compile(
    r"\b(?:does ?n[o']t|do ?n[o']t|did ?n[o']t|is (?:incorrect|wrong)|because|while|when|where"
    r"|which|whereas|the fact that|cases|leads? to|causes?|without|suggests?|implies"
    r"|assum\w{1,4}|thought|indicates?|even though|although)\b",
    re.IGNORECASE,
)


# If these words follow, the first word is a verb: "test the", not "test results".
_OBJECT = re.compile(
    r"(?:the|a|an|all|every|each|any|your|our|my|their|his|her|it|them|only|both|no|new|this|these"
    r"|to|with|for|from|at|on|in|by|up|out|back|as|whether|that|if|when|before|after|first"
    r"|into|early|which|what|how|where|them|people|me|us|customers?|users?|[\w-]{2,20}s\b"
    r"(?! (?:is|are|was|were|look|pass|fail)))(?:[ .,;]|$)|[`\"'(\d]"
    r"|(?!\w{1,20}(?:ed|ing)\b)[a-z]{3,20} (?:in|on|at|for|with|when|before|after|from|by)\b",
    re.IGNORECASE,
)
# "Fix it", "follow that": the object is in another sentence.
_LOST_OBJECT = re.compile(
    r"[\w-]{1,20}(?: (?:to|on|at|for|with))? (?:(?:it|them|one|ones|so)\b|(?:this|that|these"
    r"|those)(?=$|[ .,;!]{1,2}(?:$|please|in|on|to|for|with|again|first|next|every|when"
    r"|before|after|if|too|now|here|there|today|way)))|keep (?:on |up )?(?:doing |using )?(?:that|this|it|so)\b",
    re.IGNORECASE,
)
# An order for the current task only.
_ORDER = re.compile(
    r"(?:make|add|fix|change|remove|delete|update|rename|move|create|increase|reduce|bump"
    r"|revert|redo|finish|show|give|send) (?:me )?(?:the|this|that|my|these|those) "
    r"(?![^\n]{0,300}\b(?:always|never|when|whenever|before|after|if|unless|every|each|all"
    r"|any|per|instead of|rather than|until|while|for new|not)\b)",
    re.IGNORECASE,
)
# What somebody else said, or a question about it.
_REPORTED = re.compile(
    r"(?:he|she|they|someone|somebody|the customer|the user) (?:said|says|told|wrote|thinks"
    r"|claims)\b|(?:what|why|how|who|where|when) (?:do|does|did|is|are|should|would)\b"
    r"[^\n]{0,500}\?$|i (?:should|must|need to|have to|ought to) (?!have\b)(?:go|leave|get"
    r"|be|take a|have|admit|say|look|think|check|ask|talk|run)\b",
    re.IGNORECASE,
)
_AFTERWARDS = re.compile(
    r"[ ,]{1,3}(?:next time|from now on|going forward|in (?:the )?future|please|thanks"
    r"|thank you|pls)[ .!?]{0,4}$",
    re.IGNORECASE,
)


def find(feedback: str) -> list[Directive]:
    """Return the sentences that give advice, in order. Each has its exact span."""
    found = []
    for start, end in conversation.split(feedback[:MAX_TEXT]):
        directive = _read(feedback, start, end)
        if directive:
            found.append(directive)
        if len(found) == MAX_DIRECTIVES:
            break
    return found


def _read(feedback: str, start: int, end: int) -> Directive | None:
    sentence = feedback[start:end]
    if _REPORTED.match(sentence):
        return None
    found = _find_request(sentences.clean(sentence))
    if found is None or _LOST.search(found.content) or _ORDER.match(found.content):
        return None
    is_complete = not _DEPENDENT.match(found.content)
    return Directive(found.kind, start, end, sentence, found.content, is_complete)


def _find_request(sentence: str) -> FeedbackRequest | None:
    """Find advice in the form of a request, a command or a statement."""
    is_question = sentence.endswith("?")
    for clause in clauses.split(sentence):
        if request := requests.read(clause, sentence):
            return FeedbackRequest(
                _kind_of(sentence, request.kind), _finish_sentence(request.content)
            )
        if not is_question and _is_instruction(clause):
            return FeedbackRequest(
                _kind_of(sentence, _choice(clause)), _normalise(clause)
            )
        if not is_question and _is_modal(clauses.MARK.split(clause, maxsplit=1)[0]):
            return _read_statement(clause)
    return None if is_question else _read_statement(sentence)


def _is_instruction(clause: str) -> bool:
    """Return whether the clause is an instruction. An opening case may come before it."""
    opening = clauses.OPENING.match(clause)
    main = clauses.without_lead(clause[opening.end() :] if opening else clause)
    if imperative := _IMPERATIVE.match(main):
        following = main[imperative.end() :].split(None, 1)[:1]
        # "never called", "never mind": a report, and no advice.
        return not (
            following
            and verbs.base_of_past(following[0])
            and not verbs.is_base(following[0])
        )
    if not _VERB.match(main) and not _is_command(main):
        return False
    return bool(opening) or not _LOST_OBJECT.match(main)


def _is_command(main: str) -> bool:
    first, _, rest = main.partition(" ")
    return verbs.is_base(first) and bool(_OBJECT.match(rest))


def _read_statement(sentence: str) -> FeedbackRequest | None:
    """Return what a statement says must be done, or what it says worked and why."""
    advice = _advice(sentence)
    kind = _kind(sentence, advice)
    if kind is None or (kind != "worked" and _EPISTEMIC.search(advice)):
        return None
    return FeedbackRequest(kind, _normalise(advice))


def _advice(sentence: str) -> str:
    """Return the sentence without its greeting. For a complaint, return the clause with advice."""
    text = clauses.without_lead(sentence)
    clause = _CLAUSE.search(text)
    if clause and not _IMPERATIVE.match(text) and not clauses.OPENING.match(text):
        text = text[clause.end() :]
    return _TAIL.sub("", text) if _MODAL.search(_TAIL.sub("", text)) else text


def _kind(sentence: str, advice: str) -> str | None:
    if _WORKED.search(sentence):
        return "worked"
    opening = clauses.OPENING.match(advice)
    main = advice[opening.end() :] if opening else advice
    return _kind_of(sentence, _choice(main)) if _is_modal(main) else None


def _kind_of(sentence: str, kind: str) -> str:
    return "next_time" if kind == "directive" and _NEXT.search(sentence) else kind


def _choice(text: str) -> str:
    return "preference" if _CHOICE.search(text) else "directive"


def _is_modal(main: str) -> bool:
    modal = _MODAL.search(main)
    return bool(modal and not _RETELLING.search(main[: modal.start()]))


def _normalise(advice: str) -> str:
    """Write advice as a command: "you must not X" becomes "Do not X"."""
    text = " ".join(advice.split())
    person = _PERSON.fullmatch(text)
    if person:
        negation = (person["not"] or "").strip().lower()
        lead = {"": "", "never": "never "}.get(negation, "do not ")
        text = ("always " if person["always"] else "") + lead + person["rest"]
    return _finish_sentence(text)


def _finish_sentence(text: str) -> str:
    text = _AFTERWARDS.sub("", " ".join(text.split())).rstrip(" .!?;,:")
    text = text[5:] if text.lower().startswith("also ") else text
    return f"{text[:1].upper()}{text[1:]}." if text else ""
