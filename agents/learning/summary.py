"""The summary of an invocation: the user asked X, the agent did Y, the result was Z."""

from __future__ import annotations

import re

from pydantic import BaseModel

from agents import run_texts
from agents.learning import model_question
from agents.models import AgentRun
from agents.steps import AgentStep
from agents.tiers import instruction_shape
from common.text import literals, secrets
from common.text.quote import safe_line
from inference.errors import InferenceError
from inference.language.fence import FencedText
from projects import model_access

MAX_TOKENS = 600  # of the model's answer
MAX_QUESTION, MAX_DID, MAX_RESULT = 400, 800, 800  # characters of each part
MAX_CALLS = 8  # calls that a summary without the model names
MAX_VALUES, MAX_VALUE = 4, 60  # literals of one call, and the characters of each
# The parts of a summary, which none of its texts may begin.
_FORGED = re.compile(
    r"\b(?:the )?(?:user asked|agent|result|summary)\s{0,3}:", re.IGNORECASE
)


class DescribedInvocation(BaseModel):
    did: str
    result: str


def summarize(run: AgentRun) -> str:
    """Return the summary of a run.

    The model's is taken if its words can be used; otherwise it is composed of the run.
    """
    by_model = _by_model(run)
    return _write(run, *by_model) if by_model else compose(run)


def compose(run: AgentRun) -> str:
    """Return the summary of a run in its own words; no model is asked."""
    result = _line(run_texts.result_of(run), MAX_RESULT)
    return _write(run, _describe_calls(run), result)


def _write(run: AgentRun, did: str, result: str) -> str:
    question = _line(run_texts.question_of(run), MAX_QUESTION)
    return f"The user asked: {question}\nThe agent: {did}\nThe result: {result}"


def _by_model(run: AgentRun) -> tuple[str, str] | None:
    """Return what the model says; None if it cannot be asked, or not be believed.

    A conversation must not wait for a model that is down, so its error is no failure.
    """
    if not model_access.is_enabled(run.project):
        return None
    texts = _texts(run)
    try:
        answer = model_question.ask(
            run.project, "invocation", texts, DescribedInvocation, max_tokens=MAX_TOKENS
        )
    except InferenceError:
        return None
    known = "\n".join(each.text for each in texts)
    if not (_is_usable(answer.did, known) and _is_usable(answer.result, known)):
        return None
    return _line(answer.did, MAX_DID), _line(answer.result, MAX_RESULT)


def _texts(run: AgentRun) -> list[FencedText]:
    return [
        FencedText("question", run_texts.question_of(run)),
        *(
            FencedText(f"step {number}", _describe(step))
            for number, step in enumerate(run_texts.calls_of(run), start=1)
        ),
        FencedText("result", run_texts.result_of(run)),
    ]


def _describe(step: AgentStep) -> str:
    verdict = "failed" if step.is_error else "answered"
    return f"{step.action} {step.arguments}\n{verdict}: {step.observation}"


def _is_usable(text: str, known: str) -> bool:
    """Whether a text of the model has words, gives no orders, and invents no literal."""
    if not text.strip() or not secrets.is_clean(text):
        return False
    if _FORGED.search(text) or instruction_shape.is_instruction(text):
        return False
    return all(literal in known for literal in literals.find_literals(text))


def _describe_calls(run: AgentRun) -> str:
    """Name the tools that were called, with the literals of their arguments."""
    calls = run_texts.calls_of(run)
    if not calls:
        return "answered without a tool"
    named = "; ".join(map(_describe_call, calls[:MAX_CALLS]))
    more = len(calls) - MAX_CALLS
    return _line(
        f"called {named}" + (f"; and {more} more" if more > 0 else ""), MAX_DID
    )


def _describe_call(step: AgentStep) -> str:
    values = [_line(str(value), MAX_VALUE) for value in _leaves(step.arguments)]
    shown = ", ".join(values[:MAX_VALUES])
    failed = " (failed)" if step.is_error else ""
    return f"{step.action}({shown}){failed}"


def _leaves(value: object) -> list[object]:
    """Return the values of arguments that are no objects and no lists, in order."""
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in _leaves(each)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in _leaves(each)]
    return [value]


def _line(text: str, limit: int) -> str:
    return safe_line(secrets.mask(text).text, limit)
