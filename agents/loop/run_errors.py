"""The errors that end a run, as `{type, message}`; the types are stable."""

from __future__ import annotations

from common.text import secrets
from inference.errors import (
    BadAnswer,
    BudgetExceeded,
    InferenceError,
    ProviderMisconfiguration,
    ProviderTimeout,
    RateLimitError,
    RequestRefusal,
)

AGENT_ERROR = "agent-error"  # seed 004: too many iterations
AGENT_TIMEOUT = "agent-timeout"
SENDER_REFUSED = "sender-refused"
# The type of each failure of the model; another failure is MODEL_DOWN.
MODEL_DOWN = "model-unavailable"
MODEL_TYPES: dict[type[InferenceError], str] = {
    BudgetExceeded: "model-budget",
    RateLimitError: "model-busy",
    ProviderTimeout: "model-timeout",
    RequestRefusal: "model-refusal",
    BadAnswer: "model-bad-answer",
    ProviderMisconfiguration: "model-misconfigured",
}
MAX_MESSAGE = 500  # characters

RunError = dict[str, str]


def too_many_iterations() -> RunError:
    return {"type": AGENT_ERROR, "message": "Too many agent iterations"}


def out_of_time() -> RunError:
    message = "The run took longer than agents.max_seconds allows."
    return {"type": AGENT_TIMEOUT, "message": message}


def missing_run() -> RunError:
    return {"type": AGENT_ERROR, "message": "The run was purged."}


def sender_refusal(reason: str) -> RunError:
    return {"type": SENDER_REFUSED, "message": reason}


def model_failure(error: InferenceError) -> RunError:
    """Return the error of a failure of the model, without secrets."""
    message = secrets.error_text(error.detail, MAX_MESSAGE)
    return {"type": MODEL_TYPES.get(type(error), MODEL_DOWN), "message": message}
