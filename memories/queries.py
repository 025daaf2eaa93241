"""QuerySets of memories.

They select what a caller may see, what is current, and what a filter matches.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import connections, models
from django.db.models import Case, Exists, F, Func, OuterRef, Q, Subquery, When
from django.db.models.functions import Cast, Coalesce
from django.utils import timezone

from audit.models import AuditEvent
from common.caller import SYSTEM, Caller, Role
from memories.metadata_filter import MetadataFilter
from memories.scopes import Scope
from projects.models import Project
from search.columns import SEARCH_COLUMNS, search_columns_of

# The conditions of `current()` without the expiry, because the condition of an index cannot
# depend on the clock.
CURRENT_COLUMNS: dict[str, Any] = {
    "is_duplicate": False,
    "superseded_by__isnull": True,
    "archived_at__isnull": True,
    "deleted_at__isnull": True,
}
CURRENT_OR_DUPLICATE = {k: v for k, v in CURRENT_COLUMNS.items() if k != "is_duplicate"}
# The scopes of one user. A key that is bound to another user cannot read these scopes.
PRIVATE_SCOPES = ("user", "session")
DEFAULT_SENSITIVITIES = ("public", "private")
# The user that a memory belongs to: its `user_id`, or else the user of its scope
# (`Scope.owner`).
OWNER = Case(
    When(~Q(user_id=""), then=F("user_id")),
    When(scope_kind="user", then=F("scope_key")),
    default=F("scope_user"),
)


# Memories that no agent wrote. `Caller.agent_id_for` stored the name of the caller instead
# of an agent.
OF_NO_AGENT = Q(agent_id__in=["", SYSTEM.name]) | Q(agent_id__regex="^(key|user):")

# Episodes, and the records of finished tasks, which are notes with a goal and a result.
PAST_TASK = Q(kind="episode") | (Q(kind="note") & ~Q(goal="") & ~Q(result=""))

# The rows of a workspace that has a name of its own.
IN_NAMED_WORKSPACE = Q(scope_kind="workspace") & ~Q(
    scope_key=Cast("project_id", models.CharField())
)
# What somebody told to every session: by the tag of `am remember` and of the tool `remember`, as
# a fact that no conversation taught, or with a key that is a person's own (`claimed_source`).
TOLD_TAG = "pinned"
TOLD_KINDS = ("fact", "note", "procedure")
TOLD = Q(kind__in=TOLD_KINDS) & (
    Q(tags__contains=[TOLD_TAG])
    | Q(kind="fact", created_in_session_id="") & ~Q(provenance__has_key="quoted")
    | Q(source="user", result="")
)
SURROUNDINGS = """
SELECT ARRAY[
    EXISTS (
        SELECT FROM memories_memory
        WHERE scope_kind = 'org' AND organization_id = %s AND scope_key = %s
            AND project_id <> %s AND NOT is_duplicate AND superseded_by_id IS NULL
            AND archived_at IS NULL AND deleted_at IS NULL
    ),
    EXISTS (
        SELECT FROM memories_memory
        WHERE project_id = %s AND scope_kind = 'workspace'
            AND scope_key <> project_id::varchar AND NOT is_duplicate
            AND superseded_by_id IS NULL AND archived_at IS NULL AND deleted_at IS NULL
    )
]
"""
# What a read without a scope says if the project has named workspaces.
UNSCOPED_NOTE = (
    "scope: this is the project's own workspace and what the organization shares; name a "
    "workspace in `scope` to read it"
)


def find_surroundings(project: Project) -> tuple[str, list[Any]]:
    """Return SQL that selects two truth values.

    They say whether another project shares current org rows with this one, and whether
    this one has current rows in named workspaces. The SQL is plain, because every search
    runs it, and building a queryset takes longer than running the query.
    """
    organization = project.organization_id
    return SURROUNDINGS, [organization, str(organization), project.pk, project.pk]


def read_surroundings(project: Project, using: str) -> tuple[bool, bool]:
    """Return the two truth values of `find_surroundings`."""
    with connections[using].cursor() as cursor:
        cursor.execute(*find_surroundings(project))
        ((is_shared, has_named),) = cursor.fetchone()
    return is_shared, has_named


def shared_rows(project: Project, *more: Scope, memory: str = "") -> Q:
    """Select what every read of a project covers: what all of its callers share.

    These are its own workspace and its org rows, and the scopes `more`. A workspace with a
    name is read by its name only. `memory` is the field of a row that refers to a memory.
    """
    place = f"{memory}__" if memory else ""
    hashes = [Scope("workspace", str(project.pk)).hash, *(each.hash for each in more)]
    return Q(**{f"{place}scope_hash__in": hashes}) | Q(**{f"{place}scope_kind": "org"})


# SQL that tells whether a current memory has this text. The SQL is plain, because every
# write runs it.
IS_KNOWN = """
SELECT EXISTS (
    SELECT FROM memories_memory
    WHERE project_id = %s AND scope_hash = %s AND sensitivity = %s AND key = %s
        AND similarity_hash = %s AND NOT kept_apart AND NOT is_duplicate
        AND superseded_by_id IS NULL AND archived_at IS NULL AND deleted_at IS NULL
        AND (expires_at IS NULL OR expires_at >= %s)
)
"""


@dataclass(frozen=True)
class Filters:
    """The filters of a read (REQ-MEM-SEARCH-005).

    An empty field does not filter. An entry of `file_paths` matches a path exactly, or
    matches as a prefix if it ends in `/` or `*`.
    """

    memory_types: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tags_match: str = "all"
    file_paths: tuple[str, ...] = ()
    agent_ids: tuple[str, ...] = ()
    date_from: datetime | None = None
    date_to: datetime | None = None
    include_duplicates: bool = False
    sensitivities: tuple[str, ...] = ()
    metadata: tuple[MetadataFilter, ...] = ()
    # A part of the outcome, in any case.
    outcome: str = ""
    # Whether only memories of past tasks are read.
    past_tasks: bool = False


def as_visible_as(memory: Any, name: str) -> Q:
    """Select rows whose memory is visible to everybody who may read `memory`.

    `name` is the field with the id of the rows' memory. What is written beside `memory` may
    name only such rows. Without a memory, only shared rows are selected.
    """
    shared = ~Q(scope_kind__in=PRIVATE_SCOPES)
    user = memory.scope_user or memory.scope_key if memory else ""
    if memory and memory.scope_kind in PRIVATE_SCOPES:
        if memory.scope_kind == "session" and not memory.scope_user:
            return Q()  # only callers without a binding read it, and they read all rows
        shared |= Q(scope_kind="user", scope_key=user)
        shared |= Q(scope_kind="session", scope_user=user)
    visible = _rows("Memory").filter(shared).values("pk")
    return Q(**{name: None}) | Q(**{f"{name}__in": visible})


class MemoryQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller, project: Project | None = None) -> Self:
        """Return the rows that the caller may read.

        These are the rows of the caller's projects, without the private scopes of other
        users. Deleted, expired and duplicate rows are included; `readable()` and
        `current()` leave them out. If `project` is given, only the rows of this project are
        returned, and no query for the caller's projects is needed.
        """
        if project is None:
            rows = self.filter(project__in=Project.objects.visible_to(caller))
        elif project.is_visible_to(caller):
            rows = self.filter(project=project)
        else:
            rows = self.none()
        if not caller.user_id:
            return rows
        return rows.filter(
            ~Q(scope_kind__in=PRIVATE_SCOPES)
            | Q(scope_kind="user", scope_key=caller.user_id)
            | Q(scope_kind="session", scope_user=caller.user_id)
        )

    def unexpired(self) -> Self:
        return self.filter(_expiry_condition())

    def readable(self) -> Self:
        """Return the rows that can be read by id.

        Such a row is neither deleted nor expired.
        """
        return self.unexpired().filter(deleted_at=None)

    def current(self) -> Self:
        """Leave out deleted, archived, duplicate, superseded and expired rows."""
        return self.filter(_expiry_condition(), **CURRENT_COLUMNS)

    def current_or_duplicate(self) -> Self:
        return self.filter(_expiry_condition(), **CURRENT_OR_DUPLICATE)

    def in_scope(self, scope: Scope) -> Self:
        return self.filter(scope_hash=scope.hash)

    def reachable(
        self,
        project: Project,
        scope: Scope | None,
        shared: bool | None = None,
        extra: Sequence[Scope] = (),
    ) -> Self:
        """Return the rows that a read of a project covers, with or without a scope.

        A read without a scope covers `shared_rows`, with the scopes `extra`, and the org
        rows of the organization's other projects, as a read of the scope `org` does. Pass
        `shared` if it is already known whether there are any.
        """
        if scope is not None and scope.kind == "org":
            rows = self.in_scope(scope)
            return rows.filter(organization_id=project.organization_id)
        if scope is not None:
            return self.filter(project=project).in_scope(scope)
        own = Q(project=project) & shared_rows(project, *extra)
        if shared is None:
            shared, _ = read_surroundings(project, self.db)
        return self.filter(own | self._rows_of_others(project) if shared else own)

    @staticmethod
    def _rows_of_others(project: Project) -> Q:
        return Q(
            scope_kind="org",
            organization_id=project.organization_id,
            scope_key=str(project.organization_id),
        ) & ~Q(project=project)

    def filter_by(self, filters: Filters) -> Self:
        rows = (
            self.current_or_duplicate()
            if filters.include_duplicates
            else self.current()
        )
        rows = rows.filter(
            sensitivity__in=filters.sensitivities or DEFAULT_SENSITIVITIES
        )
        if filters.memory_types:
            rows = rows.filter(memory_type__in=filters.memory_types)
        if filters.kinds:
            rows = rows.filter(kind__in=filters.kinds)
        if filters.past_tasks:
            rows = rows.filter(PAST_TASK)
        if filters.agent_ids:
            rows = rows.filter(agent_id__in=filters.agent_ids)
        if filters.date_from:
            rows = rows.filter(created_at__gte=filters.date_from)
        if filters.date_to:
            rows = rows.filter(created_at__lte=filters.date_to)
        if filters.outcome:
            rows = rows.filter(outcome__icontains=filters.outcome)
        if filters.file_paths:
            rows = rows.about_files(filters.file_paths)
        return rows.filter(*(each.condition for each in filters.metadata))

    def tagged(self, spellings: Iterable[Sequence[str]], match: str) -> Self:
        """Filter by tags, each with all its spellings; `match` is "all" or "any"."""
        matches = [Q(tags__overlap=list(each)) for each in spellings]
        if match == "any":
            return self.filter(functools.reduce(operator.or_, matches))
        return self.filter(*matches)

    def about_files(self, paths: tuple[str, ...]) -> Self:
        matches = Q()
        for path in paths:
            if path.endswith(("/", "*")):
                matches |= Q(file__file_path__startswith=path.rstrip("*"))
            else:
                matches |= Q(file__file_path=path)
        links = _rows("MemoryFile").filter(matches, memory=OuterRef("pk"))
        return self.filter(Exists(links))

    def light(self) -> Self:
        """Defer the search columns, because only a search reads them."""
        return self.defer(*SEARCH_COLUMNS)

    def in_full(self) -> Self:
        """Prefetch what the API returns of a memory, in a fixed number of queries."""
        links = _rows("MemoryFile").select_related("file")
        return self.light().prefetch_related(models.Prefetch("file_links", links))


def _rows(model: str) -> Any:
    """Return the manager of a model of this app.

    The model is looked up by name, because `memories.models` imports this module.
    """
    return apps.get_model("memories", model)._default_manager


def _expiry_condition() -> Q:
    return Q(expires_at=None) | Q(expires_at__gte=timezone.now())


class MemoryChangeQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        rows = self.filter(project_id__in=Project.objects.visible_to(caller))
        if not caller.user_id:
            return rows
        visible = _rows("Memory").visible_to(caller)
        return rows.filter(memory_id__in=visible.values("pk"))


class FileQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        """Return the files of visible projects that the caller knows.

        A caller that is not bound to a user knows all files. A bound user knows a file if
        one of the user's memories links to it, or if a sync (`files/sync`) reported its
        content. A path without links may come from another user.
        """
        rows = self.filter(project__in=Project.objects.visible_to(caller))
        if not caller.user_id:
            return rows
        visible = _rows("MemoryFile").filter(
            file=OuterRef("pk"), memory__in=_rows("Memory").visible_to(caller)
        )
        return rows.filter(Exists(visible) | ~Q(last_content_hash=""))

    def with_memory_count(self, caller: Caller) -> Self:
        """Annotate `memory_count`: how many current memories the caller may see."""
        visible = _rows("Memory").visible_to(caller).current()
        counts = (
            _rows("MemoryFile")
            .filter(file=OuterRef("pk"), memory__in=visible)
            .order_by()
            .values("file")
            .annotate(n=models.Count("memory", distinct=True))
        )
        return self.annotate(memory_count=Coalesce(Subquery(counts.values("n")), 0))


class TagQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        """Return the tags of visible projects that the caller knows.

        A caller that is not bound to a user knows all tags. A bound user knows a tag if one
        of the user's memories has it, or if somebody created or edited it as a tag. A tag
        without memories may come from another user.
        """
        rows = self.filter(project__in=Project.objects.visible_to(caller))
        if not caller.user_id:
            return rows
        edits = AuditEvent.objects.filter(
            object_id=Cast(OuterRef("pk"), models.CharField()),
            verb__in=["tag.create", "tag.update"],
        )
        return rows.filter(Exists(_memories_with_tag(caller)) | Exists(edits))

    def with_usage_count(self, caller: Caller) -> Self:
        """Annotate `usage_count`: how many current memories the caller may see."""
        counts = (
            _memories_with_tag(caller)
            .current()
            .order_by()
            .values("project")
            .annotate(n=models.Count("pk"))
        )
        return self.annotate(usage_count=Coalesce(Subquery(counts.values("n")), 0))


def _memories_with_tag(caller: Caller) -> Any:
    """Return the visible memories that have the tag of the outer query."""
    one = Func(
        OuterRef("name"),
        template="ARRAY[%(expressions)s]::varchar[]",
        output_field=ArrayField(models.CharField(max_length=64)),
    )
    rows = _rows("Memory").visible_to(caller)
    return rows.filter(project=OuterRef("project"), tags__contains=one)


class FindingQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        visible = _rows("Memory").visible_to(caller)
        return self.filter(memory__in=visible, original__in=visible)


class PossibleDuplicateQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        visible = _rows("Memory").visible_to(caller)
        return self.filter(
            project__in=Project.objects.visible_to(caller),
            memory__in=visible,
            other__in=visible,
        )

    def in_full(self) -> Self:
        """Prefetch both memories as the API returns them, in a fixed number of queries."""
        return self.light().prefetch_related(
            "memory__file_links__file", "other__file_links__file"
        )

    def light(self) -> Self:
        """Join both memories and defer their search columns."""
        heavy = search_columns_of("memory", "other")
        return self.select_related("memory", "other").defer(*heavy)

    def undecided(self) -> Self:
        """Return the open pairs whose two memories are still current."""
        current = _rows("Memory").current().values("pk")
        return self.filter(state="open", memory__in=current, other__in=current)


class MemoryExposureQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        return self.filter(memory__in=_rows("Memory").visible_to(caller))


class PurgeQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        """Return the purges of projects that the caller owns.

        A key that is bound to a user gets no purges.
        """
        if caller.user_id:
            return self.none()
        rows = self.filter(project__in=Project.objects.visible_to(caller))
        if caller.everywhere == Role.OWNER:
            return rows
        owned = [pk for pk, role in caller.roles.items() if role == Role.OWNER]
        return rows.filter(project__in=owned)
