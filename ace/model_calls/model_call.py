"""Ask the language model for a run, within a time limit."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

from django.conf import settings
from pydantic import BaseModel

from ace.models import AceRun
from inference.language import client
from inference.language.client import Answer, Question
from inference.language.prompts import Prompt
from projects import model_access
from projects.models import Project

Shape = TypeVar("Shape", bound=BaseModel)


def max_wait(project: Project) -> timedelta:
    """Return how long a run may wait for the model, in all its calls together."""
    return timedelta(
        seconds=settings.LANGUAGE_TIMEOUT if model_access.is_enabled(project) else 0
    )


def ask(
    run: AceRun,
    prompt: Prompt,
    text: str,
    shape: type[Shape],
    *,
    purpose: str,
    max_tokens: int,
) -> Answer[Shape]:
    """Ask the model. Raises InferenceError if the model gives no valid answer.

    After this error, the rules decide without the model.
    """
    question = Question(purpose, prompt.version, prompt.text, text, max_tokens)
    return client.ask(question, shape, model_access.account_for(run.project, run.pk))
