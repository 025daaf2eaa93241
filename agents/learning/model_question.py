"""Ask the language model about a run or a conversation, with its texts as data."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from inference.errors import BadAnswer, InferenceError
from inference.language import client, prompts
from inference.language.client import Question
from inference.language.fence import FencedText, fence_texts, keep_ends
from jobs import errors as job_errors
from projects import model_access
from projects.models import Project

FOLDER = Path(__file__).parent / "prompts"
# Characters of one text in a prompt, and of all of them; middles are left out.
MAX_TEXT, MAX_PROMPT = 6_000, 40_000
MAX_TEXTS = 40  # texts of one prompt, the first and the last ones

Shape = TypeVar("Shape", bound=BaseModel)


def ask(
    project: Project,
    name: str,
    texts: Sequence[FencedText],
    shape: type[Shape],
    *,
    max_tokens: int,
) -> Shape:
    """Ask the question of the prompt file `name` about the texts. Raises InferenceError.

    Each question has the whole time limit of a run, so that a repetition has it too.
    """
    prompt = prompts.read(FOLDER / f"{name}.md")
    fenced = fence_texts(_shorten(texts))
    question = Question(
        f"agent_{name}", prompt.version, prompt.text, fenced, max_tokens
    )
    account = model_access.account_for(project, uuid.uuid4())
    return client.ask(question, shape, account).value


def _shorten(texts: Sequence[FencedText]) -> list[FencedText]:
    """Return the first and the last texts, each within its share of the prompt."""
    half = MAX_TEXTS // 2
    kept = texts if len(texts) <= MAX_TEXTS else [*texts[:half], *texts[-half:]]
    limit = min(MAX_TEXT, MAX_PROMPT // max(len(kept), 1))
    return [FencedText(each.name, keep_ends(each.text, limit)) for each in kept]


def may_answer_later(error: InferenceError) -> bool:
    """Whether another attempt may help; an unusable answer may be a better one next time."""
    return error.retryable or isinstance(error, BadAnswer)


def retry(error: InferenceError) -> job_errors.Later | job_errors.Permanent:
    """Return the error with which a job tries again, or gives up, after the model's error."""
    kind = job_errors.Later if may_answer_later(error) else job_errors.Permanent
    return kind(f"language model: {error.detail}")
