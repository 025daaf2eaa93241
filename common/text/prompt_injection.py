"""Prompt injection: find phrases that give instructions to a model, and defuse them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from common.text.danger import read_as_a_reader
from common.text.text_spans import merge_spans
from common.text.visible import CONCEALING, ORDINARY, MatchingForm, matching_form

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

_CANCELS = "it cancels other instructions"
_OTHER_ROLE = "it gives the reader another role"
_ASKS = "it asks for what the reader must not give"
_ORDERS = r"(?:instructions?|prompts?|rules|orders|directi(?:on|ve)s?|guidelines?|guidance|guardrails?|filters?|training|polic(?:y|ies)|restrictions?)"
_EARLIER = (
    r"(?:previous|prior|above|earlier|preceding|existing|original|your|system|safety)"
)


def _compile(
    rows: Iterable[tuple[str, str]],
) -> tuple[tuple[str, re.Pattern[str]], ...]:
    flags = re.IGNORECASE | re.MULTILINE
    return tuple((name, re.compile(pattern, flags)) for name, pattern in rows)


# Phrases of a sentence, in whatever lines it stands.
IN_SENTENCES = _compile(
    (
        (
            _CANCELS,
            rf"\b(?:ignore|disregard|forget|overrule|abandon|discard|set aside|cancel"
            rf"|(?:do not|don't|never|no longer|stop) (?:follow|obey)(?:ing)?)\b.{{0,40}}?\b{_EARLIER}\b.{{0,30}}?\b{_ORDERS}\b",
        ),
        (
            _CANCELS,
            r"\b(?:ignore|disregard|forget) (?:all (?:instructions|prompts|(?:of )?the above)|everything|what(?:ever)? (?:you|i|your|the)\b)",
        ),
        (
            _CANCELS,
            rf"\b{_EARLIER} {_ORDERS} .{{0,40}}?\b(?:no longer (?:appl(?:y|ies)|holds?)|(?:is|are) (?:now )?(?:void|invalid|obsolete|revoked|superseded|lifted))\b",
        ),
        (
            _CANCELS,
            rf"\b(?:override|bypass)\b.{{0,20}}?\b(?:your|system|safety)\b.{{0,20}}?\b{_ORDERS}\b",
        ),
        (
            _OTHER_ROLE,
            r"\byou are (?:now|no longer)\b|\bfrom now on,? you\b|\bpretend (?:to be|you)\b"
            r"|\bact as (?:if you|an? (?:unrestricted|evil|jailbroken)|DAN\b)",
        ),
        (
            _OTHER_ROLE,
            r"\byour (?:new|real|true|actual) (?:role|task|instructions?|goal|persona|purpose|identity)\b"
            r"|\b(?:jailbreak|god|DAN|unrestricted|unfiltered) mode\b|\bdo anything now\b"
            r"|\byou have no (?:restrictions|rules|limits)\b",
        ),
        (
            _OTHER_ROLE,
            r"\bi am your (?:developer|administrator|admin|creator|owner)\b"
            r"|\b(?:act|speak|take on the role|on behalf) (?:as|for|of) (?:the )?(?:\w+ )?(?:owner|administrator|maintainer)\b.{0,60}"
            r"\b(?:approv\w+|grant\w*|permission)\b",
        ),
        (
            _ASKS,
            r"\b(?:reveal|print|show|repeat|output|leak|disclose|expose|send)\b.{0,30}?"
            r"\b(?:system prompt|(?:your|hidden|initial) (?:prompt|instructions))\b",
        ),
        (
            _ASKS,
            r"\b(?:send|post|forward|exfiltrate|upload|e-?mail|leak)\b.{0,40}?"
            r"\b(?:credentials|api keys?|passwords?|secrets|private keys?|tokens|environment variables|user data|conversation)\b"
            r".{0,30}?\bto (?:https?://|\S{1,80}@|me\b|my\b|an? (?:external|attacker))",
        ),
        (
            "it hides from the user",
            r"\b(?:do not|don't|never|without) (?:tell|inform|mention|notify)(?:ing)?\b.{0,20}?"
            r"(?:\b(?:users?|human|operator|reviewer)\b.{0,20}?\b(?:this|these instructions|about it)\b"
            r"|\b(?:this|these instructions|it) to\b.{0,20}?\b(?:users?|human|operator|reviewer)\b)",
        ),
    )
)
# Phrases that stand at the start of a line, and mark-up.
IN_LINES = _compile(
    (
        (
            "it speaks to the model",
            r"(?:(?<!\ba\n)(?<!\ban\n)(?<!\bthe\n)^|[.!?]\s{0,3})(?:(?:note|notice|message|instructions?|attention|important"
            r"|dear|hey|hello)[ ,:-]{1,3})?(?:to|for|dear)?[ ,:]{0,2}(?:the|any|all|every)?\s?"
            r"(?:(?:ai|llm|language) )?(?:assistants?|ai models?|language models?|llms?|ais?"
            r"|ai agents?|chatbots?|copilot|claude|chatgpt|gpt|gemini)(?: reading this)?\s?[:,]\s(?!and\b|or\b)",
        ),
        (
            "it speaks to the model",
            r"\bif you are an? (?:ai|llm|language model|assistant|chatbot|automated)\b"
            r"|\b(?:ai|llm|language model|assistant)s? (?:that |who )?(?:reads?|reading|processing) this\b"
            r"|\b(?:to|for) (?:the )?(?:ai|llm|assistant|language model|model|agent)s? reading\b"
            r"|\b(?:system|admin|developer|root) (?:override|command|directive)\b\s{0,3}[:!]",
        ),
        (
            "it has a speaker's tag",
            r"^\W{0,4}(?:system|assistant|developer|human|user)\s{0,3}:|\[/?INST\]|<</?SYS>>|<\|[a-z_]{2,30}\|>"
            r"|</?(?:system|assistant|im_start|im_end)\b[^>\n]{0,40}>|(?<![\w'\":/@=])</?(?:user|human)\b[^>\n]{0,40}>"
            r"|^#{2,}\s{0,3}(?:system|instructions?)\b|\bBEGIN (?:SYSTEM|PROMPT|INSTRUCTIONS)\b"
            r"|\b(?:new|updated|important|override|hidden|secret) (?:system )?instructions?\s{0,3}:",
        ),
        (
            "it has the mark-up of a tool call",
            r"</?(?:[a-z]{1,12}:)?(?:tool_call|tool_use|function_calls?|invoke|tool_result"
            r"|function_results)s?\b|<function=|\"(?:tool_calls|function_call)\"\s{0,3}:"
            r"|\"type\"\s{0,3}:\s{0,3}\"(?:tool_(?:use|call|result)|function(?:_call)?|server_tool_use)\""
            r"|\{\s{0,8}\"(?:name|tool)\"\s{0,3}:[^\n]{1,80}\"(?:arguments|parameters|input)\"\s{0,3}:",
        ),
    )
)
IN_CHARACTERS = _compile((("it has hidden characters", HIDDEN),))
PATTERNS = IN_SENTENCES + IN_LINES + IN_CHARACTERS


@dataclass(frozen=True)
class Injection:
    """A phrase that gives instructions: what it does, and its place in the text."""

    name: str
    start: int
    end: int


def find_injections(text: str) -> tuple[Injection, ...]:
    """Find phrases that give instructions, in the order of their places."""
    whole = MatchingForm(text, range(len(text)))
    found = {*_find_patterns(whole, IN_LINES + IN_CHARACTERS)}
    if not text.isascii():
        found.update(_find_patterns(matching_form(text), IN_LINES))
    for reading in read_as_a_reader(text):
        found.update(_find_patterns(reading, IN_SENTENCES))
    return tuple(sorted(found, key=lambda each: (each.start, each.end, each.name)))


def _find_patterns(
    form: MatchingForm, patterns: Iterable[tuple[str, re.Pattern[str]]]
) -> Iterator[Injection]:
    for name, pattern in patterns:
        for match in pattern.finditer(form.text):
            if match.end() > match.start():
                yield Injection(name, *form.origin_span(*match.span()))


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
    parts: list[str] = []
    position = 0
    for tags in _SPEAKERS.finditer(form.text):
        for tag in _SPEAKER.finditer(form.text, *tags.span()):
            start, end = form.origin_span(*tag.span())
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
    phrases = find_injections(MARK.sub(_hide_mark, text))
    return merge_spans((phrase.start, phrase.end) for phrase in phrases)


def _hide_mark(mark: re.Match[str]) -> str:
    """Return a mark of `defuse` in a form that no pattern finds, of the same length.

    A mark that somebody wrote around another text is not one of `defuse`.
    """
    phrases = mark[1].replace(DOT, " "), mark[1].replace(DOT, "")
    is_broken = not find_injections(mark[1].replace(DOT, "_"))
    if is_broken and any(map(find_injections, phrases)):
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
