"""Runs of the agent as the loop leaves them, and what a model says about them."""

from __future__ import annotations

from django.utils import timezone

from agents.models import AgentRun
from agents.steps import AgentStep

QUESTION = "Where is my order 48213? I am vegan and my warehouse is in Lisbon."
ANSWER = "Order 48213 left Lisbon on Monday."


def step(action="FindOrder", observation="order 48213: shipped from Lisbon", **changed):
    """A step as a run stores it."""
    fields = {"thought": "", "arguments": {"order": 48213}, **changed}
    return AgentStep(action=action, observation=observation, **fields).to_dict()


def make_run(project, session=None, **changed):
    """A run that has ended; `request` is merged into the usual one."""
    request = {"question": QUESTION, **changed.pop("request", {})}
    fields = {
        "agent_id": "react-mem",
        "actor": "alice",
        "has_memory": True,
        "status": AgentRun.RunStatus.DONE,
        "answer": ANSWER,
        "steps": [step()],
        "ended_at": timezone.now(),
        **changed,
    }
    if session:
        fields |= {
            "session_id": session.pk,
            "conversation_id": session.key,
            "user_id": changed.get("user_id", session.user_id),
        }
    return AgentRun.objects.create(project=project, request=request, **fields)


def said(did="looked up order 48213", result="Order 48213 left Lisbon."):
    return {"did": did, "result": result}


def facts(*pairs):
    return {"facts": [{"content": content, "quote": quote} for content, quote in pairs]}


VEGAN = ("The user is vegan.", "I am vegan")
LISBON = ("The user's warehouse is in Lisbon.", "my warehouse is in Lisbon")
SHIPPED = ("Order 48213 was shipped from Lisbon.", "order 48213: shipped from Lisbon")
