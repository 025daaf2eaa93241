"""Prompt injection: find phrases that give instructions to a model, and defuse them."""

from __future__ import annotations

import re

# Invisible characters. A reader cannot judge text that invisible characters hide.
HIDDEN = r"[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
DOT = "·"  # joins the words of a defused phrase
MARK = re.compile(r"\[neutralised: (\S*)\]")

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
            r"|what (?:you|i)\b)",
        ),
        (
            "it gives the reader another role",
            r"\byou are (?:now|no longer)\b|\bfrom now on,? you\b|\bpretend (?:to be|you)\b"
            r"|\bact as (?:if you|an? (?:unrestricted|evil|jailbroken)|DAN\b)"
            r"|\byour new (?:role|task|instructions?|goal|persona|identity)\b"
            r"|\b(?:jailbreak|god|DAN) mode\b",
        ),
        (
            "it has a speaker's tag",
            r"^\W{0,4}(?:system|assistant|developer|human|user)\s{0,3}:"
            r"|\[/?INST\]|<</?SYS>>|<\|[a-z_]{2,30}\|>"
            r"|</?(?:system|assistant|user|human|im_start|im_end)\b[^>\n]{0,40}>"
            r"|^#{2,}\s{0,3}(?:system|instructions?)\b"
            r"|\b(?:new|updated|important|override|hidden|secret) (?:system )?instructions?"
            r"\s{0,3}:|\bBEGIN (?:SYSTEM|PROMPT|INSTRUCTIONS)\b",
        ),
        (
            "it has the mark-up of a tool call",
            r"</?(?:[a-z]{1,12}:)?(?:tool_call|tool_use|function_calls?|invoke|tool_result"
            r"|function_results)s?\b|<function=|\"tool_calls\"\s{0,3}:"
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


def defuse(text: str) -> str:
    """Mark each phrase that gives instructions and join its words, so that it gives none.

    `ignore all previous instructions` becomes `[neutralised:
    ignore·all·previous·instructions]`, which stays visible and searchable. A second call
    changes nothing.
    """
    parts: list[str] = []
    position = 0
    for start, end in _find_phrases(text):
        phrase = _join_words(text[start:end])
        parts += [text[position:start], f"[neutralised: {phrase}]"]
        position = end
    return "".join([*parts, text[position:]])


def _find_phrases(text: str) -> list[tuple[int, int]]:
    """Return the spans of phrases that give instructions; merge overlapping spans."""
    text = MARK.sub(_hide_mark, text)
    spans = sorted(
        match.span()
        for _, pattern in PATTERNS
        for match in pattern.finditer(text)
        if match.end() > match.start()
    )
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _hide_mark(mark: re.Match[str]) -> str:
    """Return a mark of `defuse` in a form that no pattern finds, of the same length.

    A mark that somebody wrote around another text is not one of `defuse`.
    """
    phrases = mark[1].replace(DOT, " "), mark[1].replace(DOT, "")
    if any(pattern.search(each) for _, pattern in PATTERNS for each in phrases):
        return mark[0].replace(DOT, "_")
    return mark[0]


def _join_words(phrase: str) -> str:
    """Join the words of a phrase, and break each tag after its first character."""
    phrase = re.sub(HIDDEN, lambda m: f"U+{ord(m[0]):04X}", phrase)
    phrase = re.sub(r"\s+", DOT, phrase.strip())
    result = re.sub(r'[<\[{"#](?=[^·])', rf"\g<0>{DOT}", phrase)
    if DOT in result:
        return result
    return f"{result[:1]}{DOT}{result[1:]}"
