"""Views of the history of a playbook: changes, diff, revert."""

from __future__ import annotations

import uuid
from collections import Counter
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.api.serializers import PageQuery, page_of
from common.caller import Role
from playbook.models import PlaybookEntry
from playbook.reading import change_list, entry_list, revision_diff
from playbook.reading.change_list import ChangeFilters
from playbook.review import revert
from playbook.review.revert import RevertTarget
from playbook.serializers import changes as change_forms
from playbook.views import ordered_pages
from projects.models import Project


class PlaybookChangesView(ProjectView):
    @extend_schema(
        operation_id="playbook_changes",
        parameters=[change_forms.ChangesQuery],
        responses=page_of(change_forms.ChangeOut),
    )
    def get(self, request: Request) -> Response:
        """List the changes of the playbook, newest first."""
        data = self.query(change_forms.ChangesQuery)
        project = self.project(data)
        names = ChangeFilters.__dataclass_fields__
        filters = ChangeFilters(**{n: data[n] for n in names if n in data})
        rows = change_list.find(project, filters, self.caller)
        return self.page(rows, change_forms.ChangeOut)


class EntryHistoryView(ProjectView):
    @extend_schema(
        operation_id="rules_history",
        parameters=[PageQuery],
        responses=page_of(change_forms.ChangeOut),
    )
    def get(self, request: Request, entry_id: uuid.UUID) -> Response:
        """List the changes of an entry, newest first, with a diff of the text."""
        self.query(PageQuery)
        entry = entry_list.get(entry_id, self.caller)
        return self.page(
            change_list.of_entry(entry, self.caller), change_forms.ChangeOut
        )


class PlaybookDiffView(ProjectView):
    @extend_schema(
        operation_id="playbook_diff",
        parameters=[change_forms.DiffQuery],
        responses=change_forms.DiffPage,
    )
    def get(self, request: Request) -> Response:
        """Compare two revisions, entry by entry in the order of labels."""
        data = self.query(change_forms.DiffQuery)
        project = self.project(data)
        first = data["from_revision"]
        last, differences = revision_diff.diff_revisions(
            project, first, data.get("to_revision"), self.caller
        )
        by_id = {one.entry_id: one for one in differences}
        rows = PlaybookEntry.objects.visible_to(self.caller).filter(project=project)
        page = ordered_pages.paginate(list(by_id), rows, self.request)
        page_of_differences = [by_id[pk] for pk in page.ids]
        counts = Counter(one.kind for one in differences)
        return Response(
            {
                "from_revision": first,
                "to_revision": last,
                **{kind: counts[kind] for kind in ("added", "removed", "changed")},
                "results": change_forms.DifferenceOut(
                    page_of_differences, many=True
                ).data,
                "next": page.next,
                "previous": page.previous,
            }
        )


class RevertPlaybookView(ProjectView):
    @extend_schema(
        operation_id="playbook_revert",
        request=change_forms.RevertIn,
        responses=change_forms.RevertOut,
    )
    def post(self, request: Request) -> Response:
        """Revert a change, a delta, a run or a range of revisions by new changes.

        If a later change touches the same columns, the revert is refused with
        `overlap`. The error lists the entry, the columns and the later change.
        """
        data = self.body(change_forms.RevertIn)
        project = self.project(data, Role.CURATOR)

        def act() -> tuple[int, dict[str, Any]]:
            result = revert.revert_changes(
                project,
                self.target(project, data),
                self.caller,
                reason=data["reason"],
            )
            return 200, change_forms.revert_output(result)

        return self.run_once(project.pk, act)

    def target(self, project: Project, data: dict[str, Any]) -> RevertTarget:
        for name, find in (
            ("change", revert.change_target),
            ("delta", revert.delta_target),
            ("run", revert.run_target),
        ):
            if name in data:
                return find(project, data[name], self.caller)
        first = data["revision"] if "revision" in data else data["from_revision"]
        return revert.range_target(project, first, data.get("to_revision"), self.caller)
