from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from django.db import connections, models
from django.db.models import Case, Exists, F, OuterRef, Q, Subquery, When
from django.db.models.functions import Cast, Coalesce
from django.utils import timezone

from audit.models import AuditEvent
from common.caller import SYSTEM, Caller, Role
from memories.scopes import Scope
from projects.models import Project
from search.columns import SEARCH_COLUMNS, search_columns_of

# `current()` without the clock, which no index can hold.
CURRENT_COLUMNS: dict[str, Any] = {
    "is_duplicate": False,
    "superseded_by__isnull": True,
    "archived_at__isnull": True,
    "deleted_at__isnull": True,
}
# The scopes that a read without scope covers (docs/api.md, "Search").
SHARED_SCOPES = ("workspace", "org")
# The scopes of one user, which a key bound to another user never reaches.
PRIVATE_SCOPES = ("user", "session")
DEFAULT_SENSITIVITIES = ("public", "private")
# The user that a memory is of: by its column, else by its scope (`Scope.owner`).
OWNER = Case(
    When(~Q(user_id=""), then=F("user_id")),
    When(scope_kind="user", then=F("scope_key")),
    default=F("scope_user"),
)


# What no agent wrote: `Caller.agent_id_for` names the caller then.
OF_NO_AGENT = Q(agent_id__in=["", SYSTEM.name]) | Q(agent_id__regex="^(key|user):")

IS_SHARED = """
SELECT EXISTS (
    SELECT FROM memories_memory
    WHERE scope_kind = 'org' AND organization_id = %s AND scope_key = %s
        AND project_id <> %s AND NOT is_duplicate AND superseded_by_id IS NULL
        AND archived_at IS NULL AND deleted_at IS NULL
)
"""


def is_shared_with(project: Project) -> tuple[str, list[Any]]:
    """The question whether another project of the organization shares current org rows.

    Asked by every search: as a queryset, building it took longer than answering.
    """
    organization = project.organization_id
    return IS_SHARED, [organization, str(organization), project.pk]


# Whether a current memory has this text: asked by every write, as above.
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
    """What a read is narrowed to; an empty field narrows nothing (REQ-MEM-SEARCH-005).

    `file_paths` match exactly, or as a prefix when they end in `/` or `*`.
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


class MemoryQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller, project: Project | None = None) -> Self:
        """Rows of projects that the caller may read; a bound user's private ones only.

        Deleted, expired and duplicate rows are among them: see `readable()` and
        `current()`. Those of one `project`, as a door has just read it, are found
        without looking it up again.
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
        return self.filter(_unexpired())

    def readable(self) -> Self:
        """What can be opened by its id: neither deleted nor expired."""
        return self.unexpired().filter(deleted_at=None)

    def current(self) -> Self:
        """Not deleted, archived, duplicate, superseded or expired."""
        return self.filter(_unexpired(), **CURRENT_COLUMNS)

    def current_or_duplicate(self) -> Self:
        columns = {k: v for k, v in CURRENT_COLUMNS.items() if k != "is_duplicate"}
        return self.filter(_unexpired(), **columns)

    def in_scope(self, scope: Scope) -> Self:
        return self.filter(scope_hash=scope.hash)

    def covering(
        self, project: Project, scope: Scope | None, shared: bool | None = None
    ) -> Self:
        """The rows that a read of a project covers, with or without a scope.

        Without one: workspace and org rows of the project, and org rows of the
        organization's other projects whose key is the organization itself. `shared` is
        whether there are such rows, for who has asked `is_shared_with` already.
        """
        if scope is not None:
            return self.filter(project=project).in_scope(scope)
        own = Q(project=project, scope_kind__in=SHARED_SCOPES)
        if shared is None:
            with connections[self.db].cursor() as cursor:
                cursor.execute(*is_shared_with(project))
                (shared,) = cursor.fetchone()
        return self.filter(own | self._shared_arm(project) if shared else own)

    @staticmethod
    def _shared_arm(project: Project) -> Q:
        return Q(
            scope_kind="org",
            organization_id=project.organization_id,
            scope_key=str(project.organization_id),
        ) & ~Q(project=project)

    def matching(self, filters: Filters) -> Self:
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
        if filters.tags:
            overlap = "overlap" if filters.tags_match == "any" else "contains"
            rows = rows.filter(**{f"tags__{overlap}": list(filters.tags)})
        if filters.agent_ids:
            rows = rows.filter(agent_id__in=filters.agent_ids)
        if filters.date_from:
            rows = rows.filter(created_at__gte=filters.date_from)
        if filters.date_to:
            rows = rows.filter(created_at__lte=filters.date_to)
        if filters.file_paths:
            rows = rows.about_files(filters.file_paths)
        return rows

    def about_files(self, paths: tuple[str, ...]) -> Self:
        from memories.models import MemoryFile  # models import this

        wanted = Q()
        for path in paths:
            if path.endswith(("/", "*")):
                wanted |= Q(file__file_path__startswith=path.rstrip("*"))
            else:
                wanted |= Q(file__file_path=path)
        links = MemoryFile.objects.filter(wanted, memory=OuterRef("pk"))
        return self.filter(Exists(links))

    def light(self) -> Self:
        """Without the search columns, which only search reads."""
        return self.defer(*SEARCH_COLUMNS)

    def in_full(self) -> Self:
        """With what the API shows of a memory, in a fixed number of queries."""
        from memories.models import MemoryFile  # models import this

        links = MemoryFile.objects.select_related("file")
        return self.light().prefetch_related(models.Prefetch("file_links", links))


def _unexpired() -> Q:
    return Q(expires_at=None) | Q(expires_at__gte=timezone.now())


class MemoryChangeQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        from memories.models import Memory  # models import this

        rows = self.filter(project_id__in=Project.objects.visible_to(caller))
        if not caller.user_id:
            return rows
        seen = Memory.objects.visible_to(caller)
        return rows.filter(memory_id__in=seen.values("pk"))


class FileQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        """Files of visible projects; of a bound user those that it knows.

        One of its memories speaks of them, or the project itself told their content
        (`files/sync`). A path that nothing links to any more may be another user's.
        """
        from memories.models import Memory, MemoryFile

        rows = self.filter(project__in=Project.objects.visible_to(caller))
        if not caller.user_id:
            return rows
        seen = MemoryFile.objects.filter(
            file=OuterRef("pk"), memory__in=Memory.objects.visible_to(caller)
        )
        return rows.filter(Exists(seen) | ~Q(last_content_hash=""))

    def counted_for(self, caller: Caller) -> Self:
        """With `memory_count`: the current memories that the caller may see."""
        from memories.models import Memory, MemoryFile

        seen = Memory.objects.visible_to(caller).current()
        counts = (
            MemoryFile.objects.filter(file=OuterRef("pk"), memory__in=seen)
            .order_by()
            .values("file")
            .annotate(n=models.Count("memory", distinct=True))
        )
        return self.annotate(memory_count=Coalesce(Subquery(counts.values("n")), 0))


class TagQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        """Tags of visible projects; of a bound user those that it knows.

        One of its memories carries them, or somebody put them into the vocabulary
        openly. A word that nothing carries any more may be another user's.
        """
        rows = self.filter(project__in=Project.objects.visible_to(caller))
        if not caller.user_id:
            return rows
        openly = AuditEvent.objects.filter(
            object_id=Cast(OuterRef("pk"), models.CharField()),
            verb__in=["tag.create", "tag.update"],
        )
        return rows.filter(Exists(_memories_with_tag(caller)) | Exists(openly))

    def counted_for(self, caller: Caller) -> Self:
        """With `usage_count`: the current memories that the caller may see."""
        counts = (
            _memories_with_tag(caller)
            .current()
            .order_by()
            .values("project")
            .annotate(n=models.Count("pk"))
        )
        return self.annotate(usage_count=Coalesce(Subquery(counts.values("n")), 0))


def _memories_with_tag(caller: Caller) -> Any:
    """Visible memories that carry the tag of the outer query."""
    from django.contrib.postgres.fields import ArrayField
    from django.db.models.expressions import Func

    from memories.models import Memory  # models import this

    one = Func(
        OuterRef("name"),
        template="ARRAY[%(expressions)s]::varchar[]",
        output_field=ArrayField(models.CharField(max_length=64)),
    )
    rows = Memory.objects.visible_to(caller)
    return rows.filter(project=OuterRef("project"), tags__contains=one)


class FindingQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        from memories.models import Memory  # models import this

        seen = Memory.objects.visible_to(caller)
        return self.filter(memory__in=seen, original__in=seen)


class PossibleDuplicateQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        from memories.models import Memory  # models import this

        seen = Memory.objects.visible_to(caller)
        return self.filter(
            project__in=Project.objects.visible_to(caller),
            memory__in=seen,
            other__in=seen,
        )

    def in_full(self) -> Self:
        """With both memories as the API shows them, in a fixed number of queries."""
        return self.light().prefetch_related(
            "memory__file_links__file", "other__file_links__file"
        )

    def light(self) -> Self:
        """With both memories, without what only search reads."""
        heavy = search_columns_of("memory", "other")
        return self.select_related("memory", "other").defer(*heavy)

    def waiting(self) -> Self:
        """Open pairs of which both sides are still current."""
        from memories.models import Memory  # models import this

        now = Memory.objects.current().values("pk")
        return self.filter(state="open", memory__in=now, other__in=now)


class PurgeQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        """Of projects that the caller owns, and not as one user of them."""
        if caller.user_id:
            return self.none()
        rows = self.filter(project__in=Project.objects.visible_to(caller))
        if caller.everywhere == Role.OWNER:
            return rows
        owned = [pk for pk, role in caller.roles.items() if role == Role.OWNER]
        return rows.filter(project__in=owned)
