"""Summarise memories with the language model, and check the summary against the sources."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel

from common.text import literals, secrets
from inference.errors import InferenceError
from inference.language import client, prompts
from inference.language.client import Question
from inference.language.fence import FencedText, fence_texts
from memories.retention import extractive_summary
from memories.retention.extractive_summary import MAX_LENGTH, MODEL, SHORTER, MergedText
from projects import model_access
from projects.models import Project

PURPOSE = "summary"
PROMPT = Path(__file__).parent / "prompts" / "summary.md"
MAX_TOKENS = 1_500  # enough for LENGTH characters of three bytes
# Maximum number of characters in the prompt, about 10,000 tokens. Longer sources are
# shortened first.
MAX_INPUT = 40_000
MAX_LITERALS = 10  # maximum of literals that a note or a repeated prompt lists


class SummaryReply(BaseModel):
    text: str


class UnusableSummary(InferenceError):
    """The model's summary cannot be used."""


@dataclass(frozen=True)
class Fault:
    """A fault of a summary, described for the model."""

    kind: str
    detail: str


def summarize(
    project: Project, sources: Sequence[str], run_id: uuid.UUID
) -> MergedText:
    """Ask the model for a summary; fall back to extracted sentences.

    The fallback is used if the model is unavailable, is over its budget, or repeats a
    fault. The notes of the summary name the cause.
    """
    summary = _summarize(project, sources, run_id)
    lost = _missing_literals("\n".join(sources), summary.text)
    return replace(summary, lost=tuple(lost))


def _summarize(
    project: Project, sources: Sequence[str], run_id: uuid.UUID
) -> MergedText:
    if not model_access.is_enabled(project):
        return extractive_summary.shorten(sources)
    masked = [secrets.mask(text).text for text in sources]
    try:
        return _ask_model(project, masked, run_id)
    except InferenceError as error:
        note = f"summary: without the model, because: {error.detail}"
        extract = extractive_summary.shorten(sources)
        return replace(extract, notes=(note,), cause=error.detail)


def _ask_model(
    project: Project, sources: Sequence[str], run_id: uuid.UUID
) -> MergedText:
    """Ask the model until the summary has no fault.

    Each kind of fault may occur once.
    """
    whole = "\n".join(sources)
    inputs = sources if len(whole) <= MAX_INPUT else [_best(sources)]
    most = min(MAX_LENGTH, len(whole) - 1)
    prompt = _prompt(inputs, most)
    faults: list[Fault] = []
    while True:
        corrections = "".join(f"\n\n{fault.detail}" for fault in faults)
        text, model = _ask_once(project, f"{prompt}{corrections}", run_id)
        fault = _fault(text, whole, most)
        if fault is None:
            break
        if fault.kind in [known.kind for known in faults]:
            raise UnusableSummary(fault.detail)
        faults.append(fault)
    is_shorter = "length" in [fault.kind for fault in faults]
    notes = (*_truncation_note(whole), *_loss_note(text, whole))
    return MergedText(text, SHORTER if is_shorter else MODEL, model, notes)


def _best(sources: Sequence[str]) -> str:
    return extractive_summary.shorten(sources, MAX_INPUT).text


def _prompt(sources: Sequence[str], most: int) -> str:
    parts = [FencedText(f"note {n}", text) for n, text in enumerate(sources, start=1)]
    return (
        f"{fence_texts(parts)}\n\nWrite the one text, in {most:,} characters at most."
    )


def _ask_once(project: Project, request: str, run_id: uuid.UUID) -> tuple[str, str]:
    """Return the text of the answer and the name of the model."""
    prompt = prompts.read(PROMPT)
    question = Question(PURPOSE, prompt.version, prompt.text, request, MAX_TOKENS)
    answer = client.ask(
        question, SummaryReply, model_access.account_for(project, run_id)
    )
    return answer.value.text.strip(), answer.model


def _fault(text: str, whole: str, most: int) -> Fault | None:
    if not text:
        return Fault("empty", "Your last text was empty.")
    if invented := _missing_literals(text, whole):
        listed = ", ".join(invented[:MAX_LITERALS])
        detail = f"Your last text has what stands in no note: {listed}. Leave it out."
        return Fault("invented", detail)
    if len(text) > most:
        detail = (
            f"Your last text has {len(text):,} characters; {most:,} is the most. Write "
            "a much shorter one: decisions, causes with their cures, open points."
        )
        return Fault("length", detail)
    return None


def _missing_literals(text: str, other: str) -> list[str]:
    """Return the literals of a text that another text lacks, in the order of the text."""
    others = literals.find_literals(other)
    missing = sorted(literals.find_literals(text) - others, key=text.find)
    return [literal for literal in missing if not _occurs_in(literal, other)]


def _occurs_in(literal: str, text: str) -> bool:
    """Whether a literal occurs as whole words.

    Case and the quotes of the literal do not matter.
    """
    pattern = rf"(?<![\w.]){re.escape(literal)}(?!\w|\.\w)"
    return bool(re.search(pattern, text, re.IGNORECASE))


def _truncation_note(whole: str) -> tuple[str, ...]:
    if len(whole) <= MAX_INPUT:
        return ()
    return (
        f"summary: of {len(whole):,} characters the model had the best {MAX_INPUT:,}",
    )


def _loss_note(text: str, whole: str) -> tuple[str, ...]:
    """Return a note that lists the literals of the sources that the summary left out."""
    lost = _missing_literals(whole, text)
    if not lost:
        return ()
    more = f" and {len(lost) - MAX_LITERALS} more" if len(lost) > MAX_LITERALS else ""
    return (f"summary: left out {', '.join(lost[:MAX_LITERALS])}{more}",)
