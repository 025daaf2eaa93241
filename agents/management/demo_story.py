"""The conversation of `manage.py demo_agent`: two users, three conversations.

Without a model the turns are said as they stand here. A real model decides itself.
"""

from __future__ import annotations

from dataclasses import dataclass

QUESTION = "How do I deploy to staging?"


@dataclass(frozen=True)
class DemoInvocation:
    """A question of a user in a conversation; `turns` is what the script says."""

    about: str
    user: str
    conversation_id: str
    question: str
    turns: tuple[str, ...]


STORY = (
    DemoInvocation(
        about="Ana tells the agent something, and gives it a small task.",
        user="ana",
        conversation_id="first-day",
        question="Remember that the staging host is stage.example.com, and that "
        "`make deploy` deploys. Is a failed deploy known?",
        turns=(
            "Thought: I store what I was told.\n"
            "Action: StoreFact\n"
            'Args: {"fact_content": "The staging host is stage.example.com; '
            '`make deploy` deploys to it.", "quote": "the staging host is '
            'stage.example.com, and that `make deploy` deploys"}',
            "Thought: Now I look for earlier failures.\n"
            "Action: RecallEpisodes\n"
            'Args: {"query": "failed deploy to staging"}',
            "Thought: Nothing is known.\n"
            "Final Answer: I noted the host and the command. No failed deploy is known.",
        ),
    ),
    DemoInvocation(
        about="Ana goes on in the same conversation: the agent knows what was said.",
        user="ana",
        conversation_id="first-day",
        question="Which host was it?",
        turns=("Thought: The conversation says it.\nFinal Answer: stage.example.com.",),
    ),
    DemoInvocation(
        about="Ana begins another conversation: the fact and the episode are given.",
        user="ana",
        conversation_id="next-week",
        question=QUESTION,
        turns=(
            "Thought: The facts say it.\n"
            "Final Answer: Run `make deploy`; the host is stage.example.com.",
        ),
    ),
    DemoInvocation(
        about="Ben asks the same: nothing of Ana's is given.",
        user="ben",
        conversation_id="bens-own",
        question=QUESTION,
        turns=("Thought: I know nothing of it.\nFinal Answer: I do not know.",),
    ),
)
