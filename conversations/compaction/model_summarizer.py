"""Choose the summarizer of a project: its language model, or sentences taken from the text."""

from __future__ import annotations

import uuid

from pydantic import BaseModel

from common import errors
from common.text import secrets
from conversations.summarizers import (
    ExtractiveSummarizer,
    LLMSummarizer,
    Summarizer,
    SummarizerFailure,
)
from inference.errors import InferenceError
from inference.language import client
from inference.language.client import Question
from projects import model_access
from projects.models import Project

PURPOSE = "session_summary"
VERSION = "1"
SYSTEM = 'Answer with one JSON object: {"text": "the summary"}.'
MAX_TOKENS = 4_000  # of one answer


class SummaryText(BaseModel):
    text: str


class SummarizerOff(errors.StateConflict):
    """The project has no summarizer; set `conversations.summarizer` to auto or extractive."""

    code = "summarizer_off"


class ModelSummarizer(LLMSummarizer):
    """Summarizes with the language model that the project may call."""

    def __init__(self, project: Project) -> None:
        super().__init__(self._generate)
        self.project = project
        self.model = ""

    def _generate(self, prompt: str) -> str:
        """Ask the model; each call has the whole time limit of a run.

        Secrets are masked whatever the project stores, because another company may run the
        model.
        """
        masked = secrets.mask(prompt).text
        question = Question(PURPOSE, VERSION, SYSTEM, masked, MAX_TOKENS)
        account = model_access.account_for(self.project, uuid.uuid4())
        try:
            answer = client.ask(question, SummaryText, account)
        except InferenceError as error:
            raise SummarizerFailure(str(error)) from error
        self.model = answer.model
        return answer.value.text


def summarizer_of(project: Project) -> Summarizer:
    """Return the summarizer that the settings name; refuse with 409 if it is off."""
    choice = project.options.conversations.summarizer
    if choice == "off":
        raise SummarizerOff
    if choice == "auto" and model_access.is_enabled(project):
        return ModelSummarizer(project)
    return ExtractiveSummarizer()
