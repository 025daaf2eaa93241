"""Decide whether a text may become a fact, however it got here.

The facts that a model finds in a run, and those that the agent stores itself, pass the same
gate, before they are stored.
"""

from __future__ import annotations

from enum import StrEnum

from agents.tiers import instruction_shape, personal_data_check
from common.text import secrets

# Characters of a fact that an agent writes: one statement, not a document.
MAX_FACT = 1_000


class FactRefusal(StrEnum):
    """Why a text does not become a fact; `message` says it in words."""

    NO_QUOTE = "no_quote"
    UNGROUNDED = "ungrounded"
    BLANK = "blank"
    TOO_LONG = "too_long"
    SECRET = "secret"
    EMAIL = "email_address"
    CARD = "card_number"
    PHONE = "phone_number"
    IDENTIFIER = "personal_identifier"
    NAMED = "name_beside_identifier"
    ADDRESS = "street_address"
    SPECIAL = "special_category"
    INSTRUCTION = "instruction"

    @property
    def message(self) -> str:
        return _MESSAGES[self]


_PERSONAL = "A fact keeps no personal data; say it without the"
_MESSAGES = {
    FactRefusal.NO_QUOTE: "The quote is not in the question, nor in what a tool answered in "
    "this run; quote at least eight characters of it verbatim.",
    FactRefusal.UNGROUNDED: "The fact says something else than the words that it quotes.",
    FactRefusal.BLANK: "A fact needs words.",
    FactRefusal.TOO_LONG: f"A fact has {MAX_FACT:,} characters at most.",
    FactRefusal.SECRET: "A fact keeps no secrets; say it without the secret.",
    FactRefusal.EMAIL: f"{_PERSONAL} e-mail address.",
    FactRefusal.CARD: f"{_PERSONAL} card number.",
    FactRefusal.PHONE: f"{_PERSONAL} phone number.",
    FactRefusal.IDENTIFIER: f"{_PERSONAL} number.",
    FactRefusal.NAMED: f"{_PERSONAL} name or without the number beside it.",
    FactRefusal.ADDRESS: f"{_PERSONAL} street and its number.",
    FactRefusal.SPECIAL: "A fact keeps nothing about a person's health, belief, sexuality, "
    "origin or convictions.",
    FactRefusal.INSTRUCTION: "A fact says what is, not what somebody has to do.",
}


def check_fact(text: str, *, is_users_word: bool = False) -> FactRefusal | None:
    """Return why a text must not become a fact, or None if it may.

    `is_users_word` says that the text rests on the user's own words, which may tell what
    the user wants of the agent. The words of a tool or of the agent may not.
    """
    if not drop_marks(text):
        return FactRefusal.BLANK
    if len(text) > MAX_FACT:
        return FactRefusal.TOO_LONG
    if not secrets.is_clean(text):
        return FactRefusal.SECRET
    if kind := personal_data_check.find_personal_data(text):
        return FactRefusal(kind.value)
    if instruction_shape.is_instruction(text, is_users_word=is_users_word):
        return FactRefusal.INSTRUCTION
    return None


def drop_marks(text: str) -> str:
    """Return the letters and digits of a text: a fact of marks alone says nothing."""
    return "".join(filter(str.isalnum, text))
