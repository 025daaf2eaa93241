from __future__ import annotations

from typing import Any, ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.functional import cached_property

from ace.task import task as tasks
from ace.task.analysis import TaskAnalysis
from ace.task.task import Task
from common.caller import Caller
from common.ids import uuid7
from common.text.quote import visible_line
from conversations.models import Session
from memories.models import Memory
from memories.queries import DEFAULT_SENSITIVITIES, shared_rows
from memories.scopes import Scope
from playbook.queries import M, MemoryScopedQuerySet
from projects.models import Project


class RunQuerySet(MemoryScopedQuerySet[M]):
    memory: ClassVar = "memory"

    def reachable(
        self, project: Project, caller: Caller, scope: Scope | None = None
    ) -> Self:
        """Select what a read covers: the shared scopes, the caller's own, and `scope`.

        What cannot be read by id and what is sensitive is left out.
        """
        extra = [scope] if scope else []
        if caller.user_id:
            extra.append(Scope("user", caller.user_id))
        readable = Memory.objects.readable().filter(
            pk=OuterRef(f"{self.memory}_id"), sensitivity__in=DEFAULT_SENSITIVITIES
        )
        reached = shared_rows(project, *extra, memory=self.memory)
        rows = self.visible_to(caller).filter(reached, project=project)
        return rows.filter(Exists(readable))


class FindingOfRunQuerySet(RunQuerySet[M]):
    """Rows of a run: as visible as the run."""

    memory_field = "run__memory_id"
    memory = "run__memory"


class AceRun(models.Model):
    """A finished task, and the state of its phases: executor, reflector, curator."""

    class RunState(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    agent_id = models.CharField(max_length=255)
    actor = models.CharField(max_length=200)
    key_id = models.UUIDField(null=True, blank=True)
    account_id = models.BigIntegerField(null=True, blank=True)
    # Whether the project believes the sender's reports (common.caller.Caller.attests_in).
    is_attested = models.BooleanField(default=False, db_default=False)
    # The request after its secrets were masked: {goal, result, feedback, tool_usage,
    # outcome, feedback_source, cited_entry_ids, injected_entry_ids, session_id, is_prompt,
    # lessons}.
    # No request from outside has `is_prompt`: the service read the goal in a transcript.
    # `counted_as` is the feedback_source that counts, if the sender may not claim the
    # named one.
    request = models.JSONField()
    # {phase: {"status", "at", "took_ms", "error"}}, with the phases that have run.
    phases = models.JSONField(default=dict)
    state = models.CharField(max_length=16, choices=RunState, default=RunState.RUNNING)
    result = models.JSONField(default=dict, blank=True)
    memory = models.ForeignKey(
        Memory, null=True, blank=True, on_delete=models.PROTECT, related_name="runs"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        verbose_name = "ACE run"
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=["running", "done", "failed"]),
                name="run_state_known",
            )
        ]
        indexes = [
            models.Index(fields=["project", "-id"], name="run_project_newest"),
            models.Index(
                fields=["created_at"],
                condition=models.Q(state="running"),
                name="run_unfinished",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent_id}: {self.request.get('goal', '')[:80]}"

    @cached_property
    def analysis(self) -> TaskAnalysis:
        """The request as it is read: each part once."""
        return TaskAnalysis(tasks.parse(self.request))

    @property
    def task(self) -> Task:
        return self.analysis.task

    @property
    def ace_result(self) -> dict[str, Any]:
        """Return the ACEResult of requirement 003.

        The parts of phases that have not run yet may be missing.
        """
        return {
            "run_id": str(self.pk),
            "state": self.state,
            **self.result,
            "phases": self.phases,
        }


class Reflection(models.Model):
    """What the reflector found in a run: outcome, errors, lessons, votes."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    run = models.OneToOneField(
        AceRun, on_delete=models.CASCADE, related_name="reflection"
    )
    project = models.ForeignKey(Project, on_delete=models.PROTECT)
    outcome = models.CharField(max_length=16)
    outcome_source = models.CharField(max_length=16)
    outcome_confidence = models.FloatField()
    outcome_reason = models.CharField(max_length=500, blank=True)
    errors = models.JSONField(default=list)
    insights = models.JSONField(default=list)
    lessons = models.JSONField(default=list)
    votes = models.JSONField(default=list)
    related = models.JSONField(default=list)
    # The ids of the rules that the memory of the run supports.
    supported = models.JSONField(default=list)
    abstained = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = FindingOfRunQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    outcome__in=["success", "partial", "failure", "unknown"]
                ),
                name="reflection_outcome_known",
            )
        ]

    def __str__(self) -> str:
        return f"{self.outcome} by {self.outcome_source}"


class ObservedRepair(models.Model):
    """A failed call of a run, and what then cured it or did not.

    Two failures have the same `signature` if they differ only in names, paths, numbers and
    the like, and two repairs have the same `cure` if they changed the same.
    """

    class RepairKind(models.TextChoices):
        LINT = "lint"
        SHELL = "shell"
        PATH = "path"
        TOOL = "tool"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    run = models.ForeignKey(AceRun, on_delete=models.CASCADE, related_name="repairs")
    signature = models.CharField(max_length=64)
    kind = models.CharField(max_length=8, choices=RepairKind)
    cure = models.CharField(max_length=300, blank=True)
    has_worked = models.BooleanField()
    # The person behind the sender (common.caller.Caller.person).
    person = models.CharField(max_length=32)
    # The session of the run, or the run itself if it has none.
    session = models.CharField(max_length=255)
    # The digest of the machine if the failure is a fact of one machine, or else blank.
    machine = models.CharField(max_length=32, blank=True)
    # How often the run showed it.
    times = models.PositiveSmallIntegerField(default=1)
    # {tool, name, source, failed, worked, is_sayable, is_sure, leads_elsewhere, failed_call,
    # fixed_call}: what is said of it (ace.repairs.record).
    seen = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    objects = FindingOfRunQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "signature", "run", "cure", "has_worked"],
                name="repair_once_per_run",
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=["lint", "shell", "path", "tool"]),
                name="repair_kind_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.cure}"


class BannerLine(models.Model):
    """A line that looked like an error in a command that worked, in one session.

    Only digests are stored. The errors of commands are not taken from such a line.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    run = models.ForeignKey(AceRun, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=32)
    session = models.CharField(max_length=32)
    # The person behind the sender (common.caller.Caller.person).
    person = models.CharField(max_length=32, blank=True, default="", db_default="")

    objects = FindingOfRunQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "digest", "session"], name="banner_once_per_session"
            )
        ]

    def __str__(self) -> str:
        return self.digest


class TaskFile(models.Model):
    """A file that a run used: what it did with the file, and what the file is for.

    `words` are 32-bit hashes (ace.task.file_words) of the names in the code that was
    read or changed, and of the goal if the run changed the file.
    """

    class FileAction(models.TextChoices):
        READ = "read"
        CHANGED = "changed"
        DELETED = "deleted"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    run = models.ForeignKey(
        AceRun, on_delete=models.CASCADE, db_index=False, related_name="files"
    )
    # Relative to the root of the checkout.
    path = models.CharField(max_length=1000)
    use = models.CharField(max_length=8, choices=FileAction)
    words = ArrayField(models.IntegerField(), default=list)
    # The first sentence of the file's own description, or the names that it declares.
    purpose = models.CharField(max_length=200, blank=True)
    # The session of the run, or the run itself if it has none.
    session = models.CharField(max_length=255)
    branch = models.CharField(max_length=255, blank=True)

    objects = FindingOfRunQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "path"], name="task_file_once_per_run"
            ),
            models.CheckConstraint(
                condition=models.Q(use__in=["read", "changed", "deleted"]),
                name="task_file_use_known",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "session"], name="task_file_of_session"),
            models.Index(fields=["project", "path"], name="task_file_path"),
        ]

    def __str__(self) -> str:
        return visible_line(f"{self.use} {self.path}")


class TaskCommand(models.Model):
    """A command of a run that built, tested, linted, formatted or ran the project.

    Commands with the same `pattern` differ only in names of tests, paths and the like.
    """

    class CommandOutcome(models.TextChoices):
        WORKED = "worked"
        # It ran, and found faults in the code.
        FAULTS = "faults"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    run = models.ForeignKey(
        AceRun, on_delete=models.CASCADE, db_index=False, related_name="commands"
    )
    kind = models.CharField(max_length=8)
    pattern = models.CharField(max_length=250)
    # With its folder and variables, without flags of verbosity.
    text = models.CharField(max_length=250)
    outcome = models.CharField(max_length=8, choices=CommandOutcome)
    times = models.PositiveSmallIntegerField(default=1)
    # The session of the run, or the run itself if it has none.
    session = models.CharField(max_length=255)
    # The person behind the sender (common.caller.Caller.person); empty in old rows.
    person = models.CharField(max_length=32, blank=True, default="", db_default="")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = FindingOfRunQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "text", "outcome"], name="task_command_once_per_run"
            ),
            models.CheckConstraint(
                condition=models.Q(outcome__in=["worked", "faults", "failed"]),
                name="task_command_outcome_known",
            ),
        ]
        indexes = [models.Index(fields=["project", "-id"], name="task_command_newest")]

    def __str__(self) -> str:
        return visible_line(f"{self.outcome}: {self.text}")


class ModelReflectionQuerySet(models.QuerySet["ModelReflection"]):
    def visible_to(self, caller: Caller) -> Self:
        """Select the reflections of the sessions and runs that the caller may read."""
        sessions = Session.objects.visible_to(caller).values("pk")
        runs = AceRun.objects.visible_to(caller).values("pk")
        return self.filter(
            models.Q(session__in=sessions) | models.Q(session=None, run__in=runs)
        )

    def waiting(self) -> Self:
        return self.filter(state=ModelReflection.ReflectionState.WAITING)

    def unleased(self) -> Self:
        """Select those that nobody works on."""
        free = models.Q(lease_until=None) | models.Q(lease_until__lt=timezone.now())
        return self.waiting().filter(free)


class ModelReflection(models.Model):
    """A record that a language model reads once: a part of a session, or a finished task.

    It waits until the server's model or the person's own agent has answered. A record that
    is longer than one prompt is read in parts.
    """

    class ReflectionState(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT)
    session = models.ForeignKey(
        Session,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        db_index=False,  # `reflection_once_per_part` begins with it
    )
    run = models.OneToOneField(
        AceRun,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="model_reflection",
    )
    # The messages of the session that it reads.
    first_seq = models.PositiveIntegerField(default=0)
    last_seq = models.PositiveIntegerField(default=0)
    state = models.CharField(
        max_length=8, choices=ReflectionState, default=ReflectionState.WAITING
    )
    # Who works on it, and until when: the worker, or a key or an account.
    lease_holder = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    # How many parts are read, and an answer to the next one that is not taken in yet.
    parts_done = models.PositiveSmallIntegerField(default=0)
    answer = models.JSONField(null=True, blank=True)
    model = models.CharField(max_length=100, blank=True)
    # For each part: {reasoning, errors, lessons: [{operation, label, content, status}], dropped}.
    results = models.JSONField(default=list, blank=True)

    # Who sent what it reads (access.restored_caller.SentWork).
    person = models.CharField(max_length=32)
    actor = models.CharField(max_length=200)
    key_id = models.UUIDField(null=True, blank=True)
    account_id = models.BigIntegerField(null=True, blank=True)
    agent_id = models.CharField(max_length=255)
    is_attested = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = ModelReflectionQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["session", "first_seq"], name="reflection_once_per_part"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["waiting", "done"]),
                name="model_reflection_state_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=["project", "id"],
                condition=models.Q(state="waiting"),
                name="reflection_waiting",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.state}: messages {self.first_seq} to {self.last_seq}"
