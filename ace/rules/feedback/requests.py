"""Turn an indirect request into the command that it means.

Each rule reads one clause. It returns a command in the same words, with the verb in its
base form: "it would have been better if you had asked me first" becomes "Ask me first".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ace.rules import word_tables
from ace.rules.feedback import verbs


@dataclass(frozen=True)
class FeedbackRequest:
    kind: str
    content: str


Builder = Callable[[re.Match[str]], str | None]


@dataclass(frozen=True)
class RequestPattern:
    """A pattern of a request, and the builder of its command.

    If `needs_lasting` is True, the request must be about more than the current task.
    """

    kind: str
    pattern: re.Pattern[str]
    builder: Builder
    needs_lasting: bool = False


# Verbs for what a task delivers. To praise a delivery teaches nothing about the next task.
_DELIVERED = word_tables.read("delivery_verbs")
_AND_GERUND = re.compile(r"(?P<and>\b(?:and|or|then) )(?P<verb>[a-z-]{3,20}ing)\b")
# Words that name the place or the time to which a team's habit applies.
_SCOPE = re.compile(
    r"\b(?:in|on|for|across|within|at) (?:this|our|the|all|new|every|each|any)\b"
    r"|\bhere$|\b(?:on|for|in) \w{2,20}s$|\b(?:before|after|when|unless|if) ",
    re.IGNORECASE,
)
_COMPLAINT = re.compile(
    r"\b(?:because|incorrect|wrong|correct|broken|fails?|missing|implementation|your|you"
    r"|still|yet|working|current(?:ly)?|here)\b",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"\b(?:next time|in (?:the )?future|from now on|going forward|always|never|avoid|every"
    r"|each|all|whenever|before \w{2,20}ing|after \w{2,20}ing|before you|when you|instead of"
    r"|rather than)\b|^(?:could|can|would|shall|may)\b[^\n]{0,20}\bnot\b",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"[ ,]{1,3}(?:next time|in (?:the )?future|from now on|going forward|please|thanks"
    r"|thank you|maybe|perhaps|if possible|more of (?:that|this) please)[ .!?]{0,4}$",
    re.IGNORECASE,
)

# The rules below use these names for longer patterns. `'` matches both kinds of apostrophe.
_NAMES = {
    "{verb}": r"(?P<verb>[A-Za-z][\w-]{1,20}) ",
    "{rest}": r"(?P<rest>[^\n]{3,400})",
    "{not}": r"(?P<no>not |never )?",
    "{had not}": r"(?P<no>(?:had|did|would|could|do)(?:n'?t | not )|not |never )?",
    "{fine}": (
        r"(?:(?:much|even|a lot|really|usually|always|generally|very) )?"
        r"(?:better|best|nicer?|great|good|helpful|useful|safer?|wiser?|easier|clearer"
        r"|cleaner|ideal|lovely|preferable|appreciated)"
    ),
    "{vital}": r"(?:essential|important|crucial|vital|critical|mandatory|necessary)",
    "{would be}": (
        r"(?:it|this|that|things|i)(?: would| might| could| will|'d|'ll)"
        r"(?: have been| be|'ve been| have|'ve)? "
    ),
    "{is}": r"(?:it(?:'s| is| was)|(?:it|that)(?: would|'d| might| could)(?: be| have been)) ",
    "{i want}": (
        r"i(?: was hoping| had hoped| hoped?| expected| wish(?:ed)?| want(?:ed)?| need(?:ed)?"
        r"| liked? it when|(?: would|'d)(?: really| much)?(?: have)? (?:like|liked|love"
        r"|prefer|preferred|rather|appreciate|appreciated)(?: it)?(?: if| when)?)"
    ),
    "{rule}": (
        r"(?:[\w-]{1,20}(?:'s)? ){0,4}(?:convention|rule|policy|practice|standard|style"
        r"|guideline|preference|habit|advice|suggestion|recommendation)(?: here)?"
    ),
    "{praise}": (
        r"(?:(?:good|great|nice|excellent|amazing|fantastic|awesome|smart|clever|solid) "
        r"(?:job|work|call|idea|move|thinking|choice|decision)|well done|kudos|bravo)"
    ),
    "{pointing}": r"(?:it|this|that|these|those|he|she|they|you|i|we|there)\b",
    "{holds}": (
        r"(?:is|are|belongs?|lives?|goes|go|comes?|uses?|takes?|means?|starts?|ends?"
        r"|counts?|applies|apply|stays?)"
    ),
    "'": "['\u2019]",
}


def _rule(
    kind: str, builder: Builder, *parts: str, needs_lasting: bool = False
) -> RequestPattern:
    pattern = "".join(parts)
    for name, meaning in _NAMES.items():
        pattern = pattern.replace(name, meaning)
    return RequestPattern(
        kind, re.compile(pattern, re.IGNORECASE), builder, needs_lasting
    )


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _plain(word: str) -> str | None:
    return word.lower() if verbs.is_base(word) else None


def _command(verb: str | None, match: re.Match[str]) -> str | None:
    if verb is None:
        return None
    if match.groupdict().get("no"):
        return f"Do not {verb} {match['rest']}"
    return f"{_capital(verb)} {match['rest']}"


def _build_from_base(match: re.Match[str]) -> str | None:
    return _command(_plain(match["verb"]), match)


def _build_from_past(match: re.Match[str]) -> str | None:
    return _command(verbs.base_of_past(match["verb"]), match)


def _build_from_any(match: re.Match[str]) -> str | None:
    return _build_from_base(match) or _build_from_past(match)


def _build_comparison(match: re.Match[str]) -> str | None:
    """Turn "Better to use X than to guess" into "Use X rather than to guess"."""
    command = _build_from_any(match)
    return command and re.sub(
        r"(?<!rather) than (?=to |\w{2,20}ing\b)", " rather than ", command
    )


def _build_prohibition(match: re.Match[str]) -> str | None:
    verb = _plain(match["verb"])
    return f"Do not {verb} {match['rest']}" if verb else None


def _build_avoidance(match: re.Match[str]) -> str | None:
    word = match["verb"].lower()
    return f"Avoid {word} {match['rest']}" if verbs.base_of_gerund(word) else None


def _build_praise(match: re.Match[str]) -> str | None:
    """Turn what was done well into a command. Every verb gets its base form."""
    word = match["verb"]
    verb = verbs.base_of_gerund(word)
    if verb is None:
        verb, rest = verbs.base_of_past(word), match["rest"]
    else:
        rest = _AND_GERUND.sub(
            lambda also: (
                also["and"] + (verbs.base_of_gerund(also["verb"]) or also["verb"])
            ),
            match["rest"],
        )
    return f"{_capital(verb)} {rest}" if verb and verb not in _DELIVERED else None


def _build_state(match: re.Match[str]) -> str | None:
    shows = verbs.to_present(match["verb"])
    return f"Make sure that {match['thing']} {shows} {match['rest']}" if shows else None


def _build_habit(match: re.Match[str]) -> str | None:
    verb = _plain(match["verb"])
    if verb is None:
        return None
    scope = (match["scope"] or "").strip(" ,")
    often = (match["often"] or "").strip().lower()
    command = f"do not {verb}" if match["no"] else verb
    if often in ("always", "never", "only"):
        command = f"{often} {command}"
    elif not match["no"] and not scope and not _SCOPE.search(match["rest"]):
        return None
    text = f"{scope}, {command}" if scope else command
    return _capital(f"{text} {match['rest']}")


def _build_reminder(match: re.Match[str]) -> str | None:
    """Turn a fact into "Remember that …". Return None for a complaint about the task."""
    fact = match["rest"]
    if _COMPLAINT.search(fact):
        return None
    first = fact.split(" ", 1)[0]
    text = fact[:1].lower() + fact[1:] if first[1:].islower() else fact
    return f"Remember that {text}"


def _build_after(opening: str) -> Builder:
    return lambda match: f"{opening} {match['rest']}"


_RULES = (
    # "It would have been better if you had asked", "nice if the title named it"
    _rule("directive", _build_from_any, "{would be}{fine} (?:if|that|when) (?:you|we)"
          "(?: had|'d|'ve| have| would have|'d have| would| could)? {had not}{verb}{rest}"),
    _rule("directive", _build_state, "{would be}{fine} if (?P<thing>(?:the|each|every|all|our"
          "|your) (?:[\\w-]{1,20} ){0,3}?[\\w-]{1,20}) "
          "(?P<verb>[a-z]{2,20}ed|kept|gave|took|ran|made|sent|went|showed|told) {rest}"),
    # "It is safer to ask", "better run", "it is important that"
    _rule("directive", _build_comparison, "(?:{is})?{fine} (?:practice )?{not}to (?:have )?{verb}"
          "{rest}"),
    _rule("directive", _build_comparison, "(?:you'd |you had |we'd )?better {not}{verb}{rest}"),
    _rule("directive", _build_from_base, "(?:{is})?(?:very )?{vital} {not}to {verb}{rest}"),
    _rule("directive", _build_after("Make sure that"), "{is}(?:very )?{vital} that {rest}"),
    _rule("directive", _build_after("Show"), "(?:it(?: would|'d) help|i(?:'d| would) (?:like|love)"
          "|i want) to see {rest}"),
    # "I was hoping you would include", "I'd rather you kept", "I want all of it in"
    _rule("directive", _build_from_any, "{i want}(?: that)? you(?: to| would| could| had|'d)? "
          "{had not}{verb}{rest}"),
    _rule("directive", _build_after("Keep"), "i (?:want|need) (?P<rest>(?:all|every|each|any) "
          "[^\\n]{3,200})"),
    # "You might want to check", "you should have asked", "ideally we would batch"
    _rule("directive", _build_from_base, "(?:you|we) (?:might|may|will|could) (?:also )?(?:want|wish"
          "|need|like|do well) {not}to {verb}{rest}"),
    _rule("directive", _build_from_past, "(?:you|we) (?:should|could|ought to|might)(?P<no>n'?t"
          "| not)?(?: really| better| first| at least)? have {verb}{rest}"),
    _rule("directive", _build_from_base, "(?:ideally|preferably),? (?:you|we)(?: would| should"
          "| could| will|'d) {verb}{rest}"),
    _rule("directive", _build_prohibition, "(?:we|you) (?:really )?(?:can't|cannot|can not|may not"
          "|are not (?:allowed|supposed) to|aren't (?:allowed|supposed) to|must ?n'?t"
          "|should ?n'?t) {verb}{rest}"),
    # "Would you mind not touching", "could we avoid", "could you ... from now on"
    _rule("directive", _build_avoidance, "(?:would|do|could) you mind not {verb}{rest}"),
    _rule("directive", _build_from_base, "(?:(?:could|can|would|will|shall) (?:you|we)|(?:you|we) "
          "(?:could|can|may))(?: please| kindly| maybe| perhaps| also)? {not}{verb}{rest}",
          needs_lasting=True),
    _rule("directive", _build_praise, "the (?:main |primary )?(?:focus|goal|priority) should be "
          "(?:on )?{verb}{rest}"),
    # "I prefer tabs over spaces", "I don't like emojis in", "no more raw SQL"
    _rule("preference", _build_after("Prefer"), "i(?: would|'d)?(?: always| generally| usually"
          "| strongly| much| really)? (?:prefer|favou?r) (?!{pointing}|if\\b|when\\b|to be\\b)"
          "{rest}"),
    _rule("preference", _build_after("Prefer"), "i (?:like|love|want) (?!{pointing}|the\\b|your\\b"
          "|how\\b|what\\b|when\\b|to\\b|an?\\b|all\\b|my\\b)(?P<rest>[a-z-]{2,20} [a-z-]{2,20}s"
          "(?: [^\\n]{2,100})?)"),
    _rule("directive", _build_after("Avoid"), "i (?:(?:do not|don't|really don't|never) (?:like|want"
          "|need)|hate|dislike|can't stand)(?: to see)? (?!{pointing}|the\\b|your\\b|how\\b"
          "|what\\b|to\\b)(?P<rest>[a-z-]{2,20}(?:s|ing)\\b[^\\n]{3,100})"),
    _rule("directive", _build_after("Use no more than"), "no more than (?P<rest>[^\\n]{4,200})"),
    _rule("directive", _build_after("Avoid"), "no more (?P<rest>[a-z][^\\n]{3,200})"),
    # "We never log bodies", "in this repo we pin", "our convention is to prefix"
    _rule("directive", _build_habit, "(?:(?P<scope>(?:in|on|for|at|with) [^,\\n]{2,60}?),? )?(?:we"
          "|everyone here|everybody here|people here) (?P<often>(?:always|never|only|usually"
          "|generally|normally|typically) )?(?P<no>do not |don't )?{verb}{rest}"),
    _rule("directive", _build_from_base, "{rule} (?:is|would be) {not}to {verb}{rest}"),
    _rule("directive", _build_after("Make sure that"), "{rule} is that (?!we\\b|it\\b){rest}"),
    # "Every fix needs a test", "the tax is computed on the net, not the gross amount"
    _rule("directive", _build_reminder, "(?P<rest>(?:the|an?|every|each|all|any|our"
          "|no) [^\\n]{3,120}? needs? (?:an?|the|to) [^\\n]{3,120})"),
    _rule("preference", _build_reminder, "(?P<rest>(?!{pointing})(?:(?:the|an?|all"
          "|our|every|each) )?[\\w`./-]{2,40}(?: [\\w`./-]{1,40}){0,4}? {holds}\\b[^\\n]{3,160}?"
          ",? (?:and )?(?:not|never) (?:to|in|on|by|from|with|the|an?|at|as|for|into|through) "
          "[^\\n]{2,160})"),
    # "Good job on splitting", "I liked that you asked", "checking it first saved a day"
    _rule("worked", _build_praise, "{praise}(?:,? (?:on|with|in|by|for|to))? {verb}{rest}"),
    _rule("worked", _build_praise, "i (?:also )?(?:really |very much |especially |particularly )?"
          "(?:liked?|loved?|appreciated?|enjoyed?|valued?)(?: it)? (?:that|how|when|the way) "
          "you (?:have |had |always |first )?{verb}{rest}"),
    _rule("worked", _build_praise, "(?:this|that|it) (?:only )?(?:worked|works|succeeded|went well"
          "|went smoothly|was (?:quick|fast|good|great|right))(?: out)?(?: so)?(?: well| fine"
          "| nicely)? (?:because|since|as) you (?:first |had |always )?{verb}{rest}"),
    _rule("worked", _build_praise, "{verb}(?P<rest>[^\\n,]{3,160}?),? (?:really |also )?(?:saved"
          "|helped|paid off|made (?:all the|a big|the) difference|is (?:exactly |just )?(?:the"
          " way|what|how|right)|was (?:exactly |just )?(?:right|what|a (?:good|great)))"
          "\\b[^\\n]{0,200}"),
)  # fmt: skip


def read(clause: str, sentence: str) -> FeedbackRequest | None:
    """Return the command that a clause of the sentence means, or None."""
    text = _FAREWELL.sub("", clause.rstrip(" .!?,;:"))
    for rule in _RULES:
        match = rule.pattern.fullmatch(text)
        if match is None or (rule.needs_lasting and not _LASTING.search(sentence)):
            continue
        if content := rule.builder(match):
            return FeedbackRequest(rule.kind, content)
    return None
