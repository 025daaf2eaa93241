"""Find out whether a project may call the language model, and with which limits."""

from __future__ import annotations

import uuid

from django.conf import settings

from inference.language import language_model
from inference.language.budget import DailyBudget
from projects.models import Project


def is_enabled(project: Project) -> bool:
    """Return whether the service has a language model and the project allows its use."""
    is_there: bool = settings.LANGUAGE_PROVIDER != language_model.NONE
    return is_there and project.options.language.enabled


def account_for(project: Project, run_id: uuid.UUID) -> DailyBudget:
    """Return the project's daily limits; all calls of one run share the model's timeout."""
    options = project.options.language
    return DailyBudget(
        project_id=project.pk,
        run_id=run_id,
        tokens_per_day=options.tokens_per_day,
        cost_per_day=options.cost_per_day,
    )
