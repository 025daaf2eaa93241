"""Models of the agent: its tools, and its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from django.db import models
from django.utils import timezone

from agents.queries import AgentRunQuerySet, ProjectRowsQuerySet
from common.ids import uuid7
from common.text.quote import visible_line
from projects.models import Project


class AgentTool(models.Model):
    """An MCP server whose tools an owner gives to the agents of a project."""

    class Confirm(models.TextChoices):
        ASK = "ask"
        AUTO = "auto"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    name = models.CharField(max_length=64)
    description = models.TextField(blank=True)
    url = models.CharField(max_length=2000)
    # {name: value}, in which `${AGENT_TOOL_NAME}` stands for a variable of the operator.
    headers = models.JSONField(default=dict, blank=True)
    timeout = models.FloatField(default=30.0)  # seconds
    # The groups and states in which the tools are offered; `*` is every one.
    groups = models.JSONField(default=list)
    states = models.JSONField(default=list)
    # Whether the run stops before a call that may change something.
    confirm = models.CharField(max_length=16, choices=Confirm, default=Confirm.ASK)
    is_enabled = models.BooleanField(default=True)
    # What the server offered when it was last asked: {tools: [{name, description,
    # arguments, is_read_only}], listed_at, error}; null if it was never asked.
    listing = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(auto_now=True)

    objects = ProjectRowsQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"], name="agent_tool_one_per_name"
            )
        ]

    def __str__(self) -> str:
        return visible_line(self.name)


class AgentRun(models.Model):
    """One invocation of the agent: the request, the steps so far, and how it ended.

    Each step is stored when it is done, so that a killed process loses none.
    """

    class RunStatus(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        CONFIRMING = "confirming"  # waits for a person before a tool acts
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"
        INTERRUPTED = "interrupted"  # its process ended before the run did

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    # The session of the conversation, if the request names one.
    session_id = models.UUIDField(null=True, blank=True)
    conversation_id = models.CharField(max_length=200, blank=True)
    user_id = models.CharField(max_length=255, blank=True)
    agent_id = models.CharField(max_length=255)
    # Who asked, so that a job acts with the same rights.
    actor = models.CharField(max_length=200, blank=True)
    key_id = models.UUIDField(null=True, blank=True)
    account_id = models.BigIntegerField(null=True, blank=True)
    is_attested = models.BooleanField(default=False)
    # {question, state, group, history, max_iterations, streaming, …} as it was sent.
    request = models.JSONField(default=dict)
    has_memory = models.BooleanField(default=False)
    status = models.CharField(
        max_length=16, choices=RunStatus, default=RunStatus.RUNNING
    )
    # [{thought, action, arguments, observation, …}] in order.
    steps = models.JSONField(default=list)
    # The call that waits for a person: {thought, action, arguments}; null if none does.
    pending_call = models.JSONField(null=True, blank=True)
    answer = models.TextField(blank=True)
    error = models.JSONField(null=True, blank=True)  # {type, message}
    iterations = models.PositiveIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    answer_tokens = models.PositiveBigIntegerField(default=0)
    # What the run was given, before it began or by a tool, and where a purge finds it:
    # {facts, episodes, entries, invocations, digest: [ids], error}.
    memory = models.JSONField(default=dict, blank=True)
    # What it taught: {invocation, facts, episode, refused: {reason: count}, …}; until the job
    # at the end has run, no more than what its calls of StoreFact taught.
    learned = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    # The last moment at which the process that runs it was alive.
    alive_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = AgentRunQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["project", "-id"], name="agent_run_newest"),
            models.Index(
                fields=["project", "user_id", "-id"], name="agent_run_of_user"
            ),
            models.Index(
                fields=["alive_at"],
                condition=models.Q(status__in=["queued", "running"]),
                name="agent_run_alive",
            ),
        ]

    def __str__(self) -> str:
        return visible_line(str(self.request.get("question", ""))[:80])

    def add_given(self, tier: str, ids: Iterable[str]) -> None:
        """Add ids of what the run is given of a tier, to those before."""
        known = dict.fromkeys([*self.memory.get(tier, ()), *ids])
        self.memory = {**self.memory, tier: list(known)}
        self.save(update_fields=["memory"])

    def add_learned(
        self, *, facts: Iterable[str] = (), refused: Iterable[str] = ()
    ) -> None:
        """Add ids of facts that the run taught, and reasons of refusals, to those before."""
        known = dict.fromkeys([*self.learned.get("facts", ()), *facts])
        counts = Counter(self.learned.get("refused", {}))
        counts.update(refused)
        self.learned |= {"facts": list(known), "refused": dict(counts)}
        self.save(update_fields=["learned"])

    @property
    def is_unfinished(self) -> bool:
        status = self.RunStatus
        return self.status in (status.QUEUED, status.RUNNING, status.CONFIRMING)
