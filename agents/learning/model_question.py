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
MAX_TEXT = 6_000  # characters of one text in a prompt; its middle is left out
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
    shown = [FencedText(each.name, keep_ends(each.text, MAX_TEXT)) for each in texts]
    fenced = fence_texts(
        [*shown[: MAX_TEXTS // 2], *shown[MAX_TEXTS // 2 :][-MAX_TEXTS // 2 :]]
    )
    question = Question(
        f"agent_{name}", prompt.version, prompt.text, fenced, max_tokens
    )
    account = model_access.account_for(project, uuid.uuid4())
    return client.ask(question, shape, account).value


def may_answer_later(error: InferenceError) -> bool:
    """Whether another attempt may help; an unusable answer may be a better one next time."""
    return error.retryable or isinstance(error, BadAnswer)


def retry(error: InferenceError) -> job_errors.Later | job_errors.Permanent:
    """Return the error with which a job tries again, or gives up, after the model's error."""
    kind = job_errors.Later if may_answer_later(error) else job_errors.Permanent
    return kind(f"language model: {error.detail}")
