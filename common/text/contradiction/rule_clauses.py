"""Read the clauses of a rule: what each one demands, forbids and applies to."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from common.text.contradiction import amounts, rule_words
from common.text.contradiction.amounts import Amount
from common.text.contradiction.parsed_text import (
    ARTICLES,
    BE,
    LIGHT,
    NEGATORS,
    STOPS,
    ParsedText,
    word_set,
)
from common.text.contradiction.stems import stem

# No rule has more words than this; the rest of a longer text is not compared.
MAX_CHARS = 4_000
ASKS, FREE = "approvalasked", "approvalfree"
_SENTENCE_ENDS = frozenset(".;!?")
_CONDITIONS = word_set("when whenever if unless while until once where")
_REASONS = word_set("because since otherwise so as")
# Prepositions that name a case, as in "in tests".
_CASE_PREPOSITIONS = word_set("in on for at during under inside within outside of with")
_UNIVERSAL = word_set(
    "always never all every each any everyone anyone everything nobody"
)
_LEADING = _CONDITIONS | _CASE_PREPOSITIONS
# A sentence that begins so explains the demand before it.
_EXPLANATIONS = word_set("this that these those it they otherwise because doing")
_LISTS = word_set("also too additionally plus")
_USE_VERBS = word_set("use prefer choose pick")
_PURPOSES = word_set("for to as when")
_PLACE_VERBS = word_set(
    "put store stored keep kept place placed save saved write written record recorded log"
    " logged send sent publish published live lives reside resides go goes belong belongs"
    " sit sits deploy deployed branch read load loaded pull point points listen listens"
    " start starts run runs end ends use"
)
_PLACES = word_set("in into under to at as from on with")
# "Step 3" is a name, and 3 is no amount.
_NUMBERED = word_set(
    "step rule section chapter issue ticket page phase part level case task line item"
    " question example option group stage round sprint team column row table figure appendix"
    " volume sheet slide"
)
# "On port 3" sets a value.
_SETTINGS = word_set(
    "port version timeout limit length size width height depth count level scale rate"
    " weight priority threshold budget concurrency exit code"
)
_PERMISSIVE = re.compile(r"\b(?:no need to|need not|do not need to|not necessary to)\b")
# "On 503" names a case, and 503 is no amount.
_BEFORE_CODES = word_set("on status code error http")
# The number of `make 3` is a part of a name.
_CODE = re.compile(r"`[^`]{1,200}`")
_WORD_AND_NUMBER = re.compile(r"([a-z]) (?=\d)")
_HYPHEN = re.compile(r"(?<=[a-z0-9])[-_](?=[a-z0-9])")


@dataclass(frozen=True)
class Clause:
    """One demand of a rule.

    `words` are the stems of what the clause is about, `rejected` the stems of what it
    turns down ("x instead of y"), `condition` those of its case. `approval` is 1 if a
    person must agree first, -1 if nobody is asked, else 0. `forbidden` is the stem after
    the negation.
    """

    words: frozenset[str]
    rejected: frozenset[str]
    condition: frozenset[str]
    case_words: frozenset[str]
    is_negative: bool
    is_universal: bool
    is_only: bool
    is_list: bool
    approval: int
    amounts: frozenset[Amount]
    tokens: tuple[str, ...]
    forbidden: str

    @cached_property
    def strong(self) -> frozenset[str]:
        """The stems that name the subject; verbs that fit every rule are left out."""
        return self.words - rule_words.stems_of("weak")


@lru_cache(maxsize=4096)
def read(text: str, condition: str = "") -> tuple[Clause, ...]:
    """Return the clauses of a rule.

    The cache holds as many rules as a large playbook has, because a new rule is compared
    with the same rules as the rule before.
    """
    given = frozenset(_stems(ParsedText(condition[:MAX_CHARS]).tokens))
    return tuple(_clauses(text[:MAX_CHARS], given))


def _clauses(text: str, given: frozenset[str]) -> Iterator[Clause]:
    for number, sentence in enumerate(_sentences(_with_marks(text))):
        if number and sentence and sentence[0] in _EXPLANATIONS:
            continue
        clause = _clause(sentence, given)
        if number == 0 and sentence and sentence[0] in _LEADING:
            # The case of the first sentence is the case of the whole rule.
            given = clause.condition
        if clause.words or clause.approval or clause.rejected:
            yield clause


def _with_marks(text: str) -> str:
    """Replace each phrase about approval by one word."""
    plain = " ".join(text.casefold().replace("\u2019", "'").split())
    plain = _CODE.sub(lambda code: _WORD_AND_NUMBER.sub(r"\1_", code[0]), plain)
    for pattern, word in rule_words.compounds():
        plain = pattern.sub(word, plain)
    plain = rule_words.phrases("autonomy").sub(f" {FREE} ", plain)
    plain = rule_words.phrases("approval").sub(f" {ASKS} ", plain)
    return _PERMISSIVE.sub(" optionally not ", plain)


def _sentences(text: str) -> Iterator[list[str]]:
    sentence: list[str] = []
    for token in ParsedText(text).tokens:
        if token in _SENTENCE_ENDS:
            yield sentence
            sentence = []
        else:
            sentence.append(token)
    yield sentence


def _clause(tokens: list[str], given: frozenset[str]) -> Clause:
    case, main = _split_condition(tokens)
    main, rejected = _split_rejected(main)
    words = [token for token in main if token not in STOPS]
    negators = [at for at, word in enumerate(words) if word in NEGATORS]
    approval = _approval(words, bool(negators))
    content = [word for word in words if word not in NEGATORS]
    return Clause(
        words=frozenset(_stems(_without_numbers(content))),
        rejected=frozenset(_stems(rejected)),
        condition=given | frozenset(_stems(case)),
        case_words=frozenset(_stems(_case_words(main))),
        is_negative=len(negators) % 2 == 1 and not approval,
        is_universal=any(word in _UNIVERSAL for word in words),
        is_only="only" in words,
        is_list=any(word in _LISTS for word in words),
        approval=approval,
        amounts=frozenset(_amounts(content))
        if not (_is_numbered(words) or _is_numbered_place(main))
        else frozenset(),
        tokens=tuple(words),
        forbidden=_find_forbidden(words, negators),
    )


def _split_condition(tokens: list[str]) -> tuple[list[str], list[str]]:
    """Split a sentence into its case ("when …, ") and what is left."""
    case: list[str] = []
    main = list(tokens)
    comma = next((i for i, token in enumerate(main) if token in ",:"), 0)
    if comma and main[0] in _LEADING:
        case, main = main[1:comma], main[comma + 1 :]
    for at, token in enumerate(main):
        if at and token in _REASONS and _starts_clause(main, at):
            return case, main[:at]
        if at and token in _CONDITIONS:
            return [*case, *main[at + 1 :]], main[:at]
    return case, main


def _starts_clause(tokens: Sequence[str], at: int) -> bool:
    """Whether "so", "since" or "as" begins a reason; "store it as x" does not."""
    return tokens[at] != "as" and (tokens[at] != "since" or at > 2)


def _split_rejected(tokens: list[str]) -> tuple[list[str], list[str]]:
    """Split off what the sentence turns down: "x instead of y", "x, not y"."""
    if "instead" in tokens:
        at = tokens.index("instead")
        if at == 0 and "," in tokens:
            comma = tokens.index(",")
            return tokens[comma + 1 :], tokens[1:comma]
        return tokens[:at], tokens[at + 1 :]
    for at in range(2, len(tokens)):
        is_contrast = tokens[at] in ("not", "never") and tokens[at - 1] in (
            ",",
            "and",
            "but",
        )
        if is_contrast and not any(word in NEGATORS for word in tokens[:at]):
            return tokens[: at - 1], tokens[at + 1 :]
    return tokens, []


def _find_forbidden(words: Sequence[str], negators: Sequence[int]) -> str:
    """Return the stem after the first negation; empty if no word follows."""
    following = words[negators[0] + 1 :] if negators else ()
    return next(_stems(_without_numbers(following)), "")


def _approval(words: Sequence[str], is_negated: bool) -> int:
    if FREE in words:
        return 1 if is_negated else -1
    return 1 if ASKS in words else 0


def _case_words(tokens: Sequence[str]) -> Iterator[str]:
    """Yield the words of phrases that name a case: "in tests", "on feature branches"."""
    inside = False
    for token in tokens:
        if token in _CASE_PREPOSITIONS:
            inside = True
        elif token in STOPS:
            inside = False
        elif inside:
            yield token


def _amounts(words: Sequence[str]) -> Iterator[Amount]:
    """Read the amounts; "the second boat" names a boat, and 2 is no amount of it."""
    found = amounts.read(words)
    return (one for one in found if not one.is_weak and one.dimension != "th")


def find_slot(clause: Clause, value: str) -> str:
    """Return the kind of place in which a value stands, or nothing.

    The kinds are "is" ("the branch is x"), "place" ("keep it in x") and "use" ("use x for
    it").
    """
    tokens = clause.tokens
    at = next((i for i, token in enumerate(tokens) if value in _stems([token])), 0)
    if at and tokens[at - 1] in BE and at == len(tokens) - 1:
        # "Is running" tells what something does, not what it is.
        return "" if tokens[at].endswith(("ing", "ed")) else "is"
    if at == 1 and tokens[0] in _USE_VERBS and tokens[2:3] and tokens[2] in _PURPOSES:
        return "use"
    leading = [token for token in tokens[:at] if token not in ARTICLES]
    is_last = at == len(tokens) - 1
    if is_last and leading and leading[-1] in _PLACES:
        return "place" if any(token in _PLACE_VERBS for token in leading) else ""
    return ""


def _is_numbered(words: Sequence[str]) -> bool:
    return any(
        word in _NUMBERED | _BEFORE_CODES and after.isdigit()
        for word, after in itertools.pairwise(words)
    )


def _is_numbered_place(tokens: Sequence[str]) -> bool:
    """Whether a number names the place of a case: "at buoy 3", but not "on port 3"."""
    plain = [token for token in tokens if token not in ARTICLES]
    return any(
        preposition in _CASE_PREPOSITIONS
        and place not in _SETTINGS
        and not amounts.is_number(place)
        and amounts.is_number(number)
        for preposition, place, number in zip(plain, plain[1:], plain[2:], strict=False)
    )


def _without_numbers(words: Sequence[str]) -> Iterator[str]:
    """Yield the words without amounts.

    A number after "step" stays, because it is a part of a name.
    """
    for before, word in zip(["", *words], words, strict=False):
        if amounts.is_number(word):
            if before in _NUMBERED or before in _BEFORE_CODES:
                yield f"{before}{word}"
        elif word not in (ASKS, FREE) and not (
            amounts.is_number(before) and amounts.is_unit(word)
        ):
            yield word


def _stems(tokens: Iterable[str]) -> Iterator[str]:
    fold = rule_words.synonyms()
    for token in tokens:
        if token in LIGHT or token in NEGATORS or token in _CONDITIONS:
            continue
        for part in _HYPHEN.sub(" ", token).split() if "-" in token else [token]:
            word = stem(part)
            yield fold.get(word, word)
