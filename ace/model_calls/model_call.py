"""How a run asks the language model, and how long it may wait for it."""

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
    """How long a run may wait for the model, all its calls together."""
    return timedelta(
        seconds=settings.LANGUAGE_TIMEOUT if model_access.is_enabled(project) else 0
    )


def ask(
    run: AceRun,
    prompt: Prompt,
    told: str,
    shape: type[Shape],
    *,
    purpose: str,
    max_tokens: int,
) -> Answer[Shape]:
    """Raises InferenceError; then the rules go on alone."""
    question = Question(purpose, prompt.version, prompt.text, told, max_tokens)
    return client.ask(question, shape, model_access.account_for(run.project, run.pk))
