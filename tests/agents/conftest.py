from __future__ import annotations

import pytest

from agents.learning import invocation_job
from inference.language import attempts
from tests.agents import scripted_endpoint
from tests.conversations.conftest import session_api  # noqa: F401  a fixture


@pytest.fixture
def model(settings, monkeypatch):
    """A model server on loopback that the settings name; script its replies."""
    # A proxy of the surroundings must not be asked for loopback.
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(attempts, "PAUSES", (0.001, 0.001))
    with scripted_endpoint.serve() as endpoint:
        settings.LANGUAGE_PROVIDER = "openai"
        settings.LANGUAGE_URL = endpoint.url
        settings.LANGUAGE_API_KEY = "secret"
        settings.LANGUAGE_MODEL = "small"
        settings.LANGUAGE_TIMEOUT = 20
        yield endpoint


@pytest.fixture
def learn(run_jobs):
    """Let a worker learn from a run; return what it wrote to the run."""

    def act(run):
        invocation_job.enqueue(run)
        run_jobs()
        run.refresh_from_db()
        return run.learned

    return act
