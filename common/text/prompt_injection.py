"""Prompt injection: find phrases that give instructions to a model, and defuse them.

Phrases are looked for in the text and in each of its variants (`common.text.variants`),
in English by patterns and in other languages by word tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from common.text.danger.phrase_rules import PhraseRule
from common.text.danger.phrases import find_phrases
from common.text.danger.word_tables import read_entries
from common.text.text_spans import merge_spans
from common.text.variants import Variant, find_variants
from common.text.visible import CONCEALING, ORDINARY, matching_form

# Invisible characters. A reader cannot judge text that invisible characters hide. Emoji and
# some scripts have one or two of the ordinary ones in a row.
HIDDEN = rf"[{CONCEALING}]|[{ORDINARY}]{{3,}}"
MAX_ROUNDS = 6
DOT = "·"  # joins the words of a defused phrase
MARK = re.compile(r"\[neutralised: (\S*)\]")

# Speakers' tags inside a line, one or more in a row. They are no order by themselves ("the
# operating system: Linux"), and so they are only marked. The other two are also words of
# ordinary lines ("log in with user: root"), and are marked where a sentence begins.
_SPEAKERS = re.compile(
    r"(?<![\w\"'`:/.·-])(?:(?:system|assistant|developer|human) {0,3}:)+(?![:/\\])"
    r"|(?<=[.!?] )(?:user|tool) {0,3}:(?![:/\\])",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"\b(\w)(\w{1,12}) {0,3}:")

_MARK_UP = "it has the mark-up of a tool call"

_GUIDANCE = "guidance|instructions?|directions?|directives?|prompts?|guidelines?|guardrails?|advice"
_IS_VOID = (
    "(?:(?:no longer|do(?:es)? not|don't|doesn't|cease to|not) (?:appl(?:y|ies)|holds?|counts?|matters?|binds?)"
    "|(?:is|are|becomes?|was|were) (?:now |hereby |all )?(?:void|null|invalid|obsolete|cancell?ed|revoked"
    "|superseded|lifted|suspended|overridden|withdrawn|annulled|worthless|irrelevant|outdated))"
)
_AUTHORITY = (
    "(?:administrator|admin|owner|maintainer|root|superuser|supervisor|operator|reviewer"
    "|approver|security (?:lead|officer|team)|team lead|manager|boss|cto|ciso)"
)

PATTERNS = tuple(
    (name, re.compile(pattern, re.IGNORECASE | re.MULTILINE))
    for name, pattern in (
        (
            "it cancels other instructions",
            r"\b(?:ignore|disregard|forget)\b.{0,40}?"
            r"\b(?:previous|prior|above|earlier|preceding|your|system)\b.{0,30}?"
            r"\b(?:instructions?|prompts?|rules|directions?|guidelines?|guardrails?"
            r"|training)\b|\b(?:ignore|disregard|forget) all (?:instructions|prompts)\b"
            r"|\b(?:override|bypass)\b.{0,20}?\b(?:your|system|safety)\b.{0,20}?"
            r"\b(?:instructions?|prompts?|rules|guidelines?|guardrails?|filters?)\b"
            r"|\b(?:ignore|disregard|forget)\s+(?:everything|(?:all of|all) the above"
            r"|what (?:you|i)\b)"
            r"|\b(?:set aside|pay no attention to|stop (?:following|obeying)|overrule"
            r"|(?:do not|don't|never|no longer|need not) (?:follow|obey)|supersedes?|abandon"
            r"|discard|throw (?:away|out)|unlearn|takes? precedence over|cancel|void)\b.{0,30}?"
            r"\b(?:previous|prior|above|earlier|preceding|existing|original|your|system)\b"
            r".{0,30}?\b(?:instructions?|prompts?|rules|orders|guidelines?|guardrails?"
            r"|polic(?:y|ies)|restrictions?|constraints?|training)\b"
            rf"|\b(?:{_GUIDANCE}|rules)\b.{{0,12}}?\b(?:you (?:had|have|were|got|received|follow)|your)\b"
            rf".{{0,50}}?\b{_IS_VOID}\b|\b(?:your|previous|prior|earlier|above|preceding|original|former|old)"
            rf" (?:\w{{1,12}} )?(?:{_GUIDANCE})\b.{{0,40}}?\b{_IS_VOID}\b"
            r"|\b(?:ignore|disregard|forget)\b.{0,20}?\bwhat(?:ever)? (?:your|the|an?) "
            r"(?:\w{1,12} )?(?:operator|owner|user|developer|admin|administrator|human|system|prompt"
            r"|maintainer|vendor|creator)s? (?:has |have |had )?(?:said|says?|told|tells?|asked|asks?|wrote"
            r"|ordered|instructed|wants?|wanted)\b",
        ),
        (
            "it gives the reader another role",
            r"\byou are (?:now|no longer)\b|\bfrom now on,? you\b|\bpretend (?:to be|you)\b"
            r"|\bact as (?:if you|an? (?:unrestricted|evil|jailbroken)|DAN\b)"
            r"|\byour new (?:role|task|instructions?|goal|persona|identity)\b"
            r"|\b(?:jailbreak|god|DAN|unrestricted|unfiltered) mode\b"
            r"|\bdo anything now\b|\byour (?:real|true|actual|only) (?:role|task|goal|purpose"
            r"|instructions?|identity)\b|\b(?:role-?play|behave) as (?:if you|an? )"
            r"|\byou have no (?:restrictions|rules|limits|filters)\b"
            r"|\bi am your (?:developer|administrator|admin|creator|owner|supervisor|operator)\b"
            r"|\byou (?:must|will|shall) (?:now )?(?:obey|comply with) (?:me|my|this|these|every)\b"
            rf"|\b(?:take on|assume|adopt|play|step into|slip into) (?:the|an?) (?:role|identity|persona|part"
            rf"|position|authority) of (?:an? |the )?(?:\w{{1,14}} ){{0,2}}?{_AUTHORITY}\b"
            rf"|\byou are (?:\w{{1,20}}, )?(?:an? |the )?(?:\w{{1,14}} ){{0,3}}?[^.\n]{{0,40}}?"
            rf"\b(?:whose|who|with|that)\b[^.\n]{{0,40}}?\b(?:nobody|no one|no approval|no permission"
            rf"|no review|no restrictions?|no limits?|unlimited|unrestricted|full authority|all rights)\b"
            rf"|\b(?:act|speak|answer|behave|decide|sign|work|operate)(?: from (?:now|here) on)? "
            rf"(?:as|for|on behalf of|in the name of) (?:an? |the |its |your )?(?:\w{{1,14}} ){{0,2}}?{_AUTHORITY}\b"
            rf"[^.\n]{{0,60}}?\b(?:approv\w{{1,4}}|grant\w{{0,3}}|permission|restrictions?|allow\w{{0,3}}|authori\w{{1,8}}"
            rf"|merge|accept\w{{0,3}}|waive\w{{0,1}}|nobody)\b",
        ),
        (
            "it speaks to the model",
            r"(?:(?<!\ba\n)(?<!\ban\n)(?<!\bthe\n)^|[.!?]\s{0,3})(?:(?:note|notice|message|memo|instructions?|attention|important"
            r"|dear|hey|hello)[ ,:-]{1,3})?(?:to|for|dear|attention)?[ ,:]{0,2}(?:the|any|all|every)?\s?"
            r"(?:(?:ai|llm|language) )?(?:assistants?|ai models?|language models?|llms?|ais?"
            r"|ai agents?|chatbots?|copilot|claude|chatgpt|gpt|gemini)(?: reading this)?\s?[:,]\s"
            r"(?!and\b|or\b)"
            r"|\bif you are an? (?:ai|llm|language model|assistant|chatbot|automated)\b"
            r"|\b(?:ai|llm|language model|assistant)s? (?:that |who )?"
            r"(?:reads?|reading|processing) this\b"
            r"|\b(?:to|for) (?:the )?(?:ai|llm|assistant|language model|model|agent)s? reading\b"
            r"|\b(?:system|admin|developer|root) (?:override|command|directive)\b\s{0,3}[:!]",
        ),
        (
            "it has a speaker's tag",
            r"^\W{0,4}(?:system|assistant|developer|human|user)\s{0,3}:"
            r"|(?:[.!?]\W{0,4}\s\W{0,4}|[>\"'`|(]\s{0,3})(?:system|assistant|developer)(?: (?:message|prompt|note))?\s{0,3}:"
            r"[^.\n]{0,80}\b(?:agents?|assistants?|models?|readers?|you|your|must|shall|ignore|override"
            r"|approve[sd]?|granted?|clearance|instructions?|rules|allowed|permitted|authori[sz]ed)\b"
            r"|\[/?INST\]|<</?SYS>>|<\|[a-z_]{2,30}\|>"
            r"|</?(?:system|assistant|im_start|im_end)\b[^>\n]{0,40}>"
            r"|(?<![\w'\":/@=])</?(?:user|human)\b[^>\n]{0,40}>"
            r"|^#{2,}\s{0,3}(?:system|instructions?)\b"
            r"|\b(?:new|updated|important|override|hidden|secret) (?:system )?instructions?"
            r"\s{0,3}:|\bBEGIN (?:SYSTEM|PROMPT|INSTRUCTIONS)\b",
        ),
        (
            _MARK_UP,
            r"</?(?:[a-z]{1,12}:)?(?:tool_call|tool_use|function_calls?|invoke|tool_result"
            r"|function_results)s?\b|<function=|\"(?:tool_calls|function_call)\"\s{0,3}:"
            r"|\"type\"\s{0,3}:\s{0,3}\"(?:tool_(?:use|call|result)|function(?:_call)?|server_tool_use)\""
            r"|\{\s{0,8}\"(?:name|tool)\"\s{0,3}:[^\n]{1,80}"
            r"\"(?:arguments|parameters|input)\"\s{0,3}:",
        ),
        (
            "it asks for what the reader must not give",
            r"\b(?:reveal|print|show|repeat|output|leak|disclose|expose|send)\b.{0,30}?"
            r"\b(?:system prompt|(?:your|hidden|initial) (?:prompt|instructions))\b"
            r"|\b(?:send|post|forward|exfiltrate|upload|e-?mail|leak)\b.{0,40}?"
            r"\b(?:credentials|api keys?|passwords?|secrets|private keys?|tokens"
            r"|environment variables|user data|conversation)\b.{0,30}?"
            r"\bto (?:https?://|\S{1,80}@|me\b|my\b|an? (?:external|attacker))",
        ),
        (
            "it hides from the user",
            r"\b(?:do not|don't|never|without) (?:tell|inform|mention|notify)(?:ing)?\b"
            r".{0,20}?\b(?:users?|human|operator|reviewer)\b.{0,20}?"
            r"\b(?:this|these instructions|about it)\b"
            r"|\b(?:do not|don't|never|without) (?:tell|inform|mention|notify)(?:ing)?\b"
            r".{0,20}?\b(?:this|these instructions|it) to\b.{0,20}?"
            r"\b(?:users?|human|operator|reviewer)\b",
        ),
        (
            "it has hidden characters",
            HIDDEN,
        ),
    )
)
# The quotation of a phrase, and what is done with text that has it.
_QUOTATION = re.compile(
    r"\b(?:words?|phrases?|texts?|strings?|sentences?|lines?|inputs?|payloads?|such as|like|says?|saying)"
    r" ([\"“«`][^\"”»`\n]{1,60}[\"”»`])",
    re.IGNORECASE,
)
_IS_DATA = re.compile(
    r"\b(?:treat(?:s|ed)? (?:it|them|this|that|these|such \w{1,12}|the \w{1,12}) as (?:plain |mere )?(?:data|text)"
    r"|(?:is|are) (?:only |just |plain |mere )?data\b|(?:must|should) (?:be (?:escaped|rejected|refused|flagged)"
    r"|never be (?:obeyed|followed)))",
    re.IGNORECASE,
)
# Variants have neither the lines of the text, nor its tags, nor its invisible characters.
_BY_LINE = {
    "it speaks to the model",
    "it has a speaker's tag",
    "it has hidden characters",
}
_IN_LINES = [row for row in PATTERNS if row[0] in _BY_LINE | {_MARK_UP}]
_IN_SENTENCES = [row for row in PATTERNS if row[0] not in _BY_LINE]
# The same in other languages. The tables are in `common/text/danger/words`.
RULES = (
    PhraseRule("it cancels other instructions", ("cancel", "earlier", "orders")),
    PhraseRule("it gives the reader another role", ("new_role",)),
    PhraseRule("it asks for what the reader must not give", ("expose", "prompt_text")),
    PhraseRule("it asks for what the reader must not give", ("send", "prompt_text")),
)


@dataclass(frozen=True)
class Injection:
    """A phrase that gives instructions: what it does, and its place in the text."""

    name: str
    start: int
    end: int


def find_injections(text: str) -> tuple[Injection, ...]:
    """Find phrases that give instructions, in the order of their places.

    A text that only quotes such phrases, and says that they are data, gives none.
    """
    found = _find_injections(text)
    quotations = [match.span(1) for match in _QUOTATION.finditer(text)]
    if quotations and _IS_DATA.search(text):
        spans = [(each.start, each.end) for each in found]
        if all(_is_within(span, quotations) for span in spans):
            return ()
    return found


def _is_within(span: tuple[int, int], quotations: Sequence[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in quotations)


def _find_injections(text: str) -> tuple[Injection, ...]:
    variants = find_variants(text)
    found = _find_english(text, variants)
    for variant in variants:
        if any(sign in variant.text for sign in _hints()):
            found.update(_find_translations(variant))
    return tuple(sorted(found, key=lambda each: (each.start, each.end, each.name)))


def _find_english(text: str, variants: Sequence[Variant]) -> set[Injection]:
    whole = Variant(text, range(len(text)))
    found = set(_find_patterns(whole, _IN_LINES if text.isascii() else PATTERNS))
    if not text.isascii():
        form = matching_form(text)
        found.update(_find_patterns(Variant(form.text, form.origins), _IN_LINES))
    for number, variant in enumerate(variants):
        found.update(_find_patterns(variant, PATTERNS if number else _IN_SENTENCES))
    return found


def _find_patterns(
    variant: Variant, patterns: Sequence[tuple[str, re.Pattern[str]]]
) -> Iterator[Injection]:
    for name, pattern in patterns:
        for match in pattern.finditer(variant.text):
            if match.end() > match.start():
                yield Injection(name, *variant.origin_span(*match.span()))


def _find_translations(variant: Variant) -> Iterator[Injection]:
    for name, start, end, _ in find_phrases(variant.text, RULES):
        yield Injection(name, *variant.origin_span(start, end))


@cache
def _hints() -> tuple[str, ...]:
    """Return the beginnings of phrases: a text without all of them has no phrase."""
    tables = ("cancel", "new_role", "prompt_text")
    entries = (entry for table in tables for entry in read_entries(table))
    return tuple({entry.parts[0].rstrip("*") for entry in entries})


def defuse(text: str) -> str:
    """Mark each phrase that gives instructions and join its words, so that it gives none.

    `ignore all previous instructions` becomes `[neutralised:
    ignore·all·previous·instructions]`, which stays visible and searchable. A second call
    changes nothing: a phrase can also come about where another one was marked.
    """
    for _ in range(MAX_ROUNDS):
        marked = _mark_speakers(_mark_phrases(text))
        if marked == text:
            break
        text = marked
    return text


def _mark_speakers(text: str) -> str:
    """Mark speakers' tags, also those in look-alike characters."""
    form = matching_form(text)
    places = Variant(form.text, form.origins)
    parts: list[str] = []
    position = 0
    for tags in _SPEAKERS.finditer(form.text):
        for tag in _SPEAKER.finditer(form.text, *tags.span()):
            start, end = places.origin_span(*tag.span())
            name = "".join(text[start:end].split())
            mark = f"[neutralised: {name[:1]}{DOT}{name[1:]}]"
            parts += [text[position:start], mark]
            position = end
    return "".join([*parts, text[position:]])


def _mark_phrases(text: str) -> str:
    parts: list[str] = []
    position = 0
    for start, end in _find_phrases(text):
        phrase = _join_words(text[start:end])
        parts += [text[position:start], f"[neutralised: {phrase}]"]
        position = end
    return "".join([*parts, text[position:]])


def _find_phrases(text: str) -> list[tuple[int, int]]:
    """Return the spans of phrases that give instructions; merge overlapping spans."""
    phrases = _find_injections(MARK.sub(_hide_mark, text))
    return merge_spans((phrase.start, phrase.end) for phrase in phrases)


def _hide_mark(mark: re.Match[str]) -> str:
    """Return a mark of `defuse` in a form that no pattern finds, of the same length.

    A mark that somebody wrote around another text is not one of `defuse`.
    """
    phrases = mark[1].replace(DOT, " "), mark[1].replace(DOT, "")
    # In other languages, a joined phrase begins with the stem of its first word.
    joined = mark[1].replace(DOT, "_")
    is_broken = not _find_english(joined, find_variants(joined))
    if is_broken and any(map(_find_injections, phrases)):
        return "_" * len(mark[0])
    return mark[0]


def _join_words(phrase: str) -> str:
    """Join the words of a phrase, and break each tag after its first character."""
    phrase = re.sub(HIDDEN, lambda m: f"U+{ord(m[0][0]):04X}", phrase)
    phrase = re.sub(r"\s+", DOT, phrase.strip())
    result = re.sub(r'[<\[{"#](?=[^·])', rf"\g<0>{DOT}", phrase)
    if DOT in result:
        return result
    return f"{result[:1]}{DOT}{result[1:]}"
