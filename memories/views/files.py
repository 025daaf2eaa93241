"""Views of the files of the code base."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.api.serializers import page_of
from memories.models import (
    File,
)
from memories.serializers import files as file_forms
from memories.store import files


class FilesView(ProjectView):
    @extend_schema(
        operation_id="files_list",
        parameters=[file_forms.FileQuery],
        responses=page_of(file_forms.FileOut),
    )
    def get(self, request: Request) -> Response:
        """List files of a project, with the number of memories that link to each file."""
        data = self.query(file_forms.FileQuery)
        project = self.project(data)
        rows = File.objects.visible_to(self.caller).filter(project=project)
        if "path" in data:
            rows = rows.filter(file_path__startswith=data["path"])
        return self.page(rows.with_memory_count(self.caller), file_forms.FileOut)


class RenameFileView(ProjectView):
    @extend_schema(
        operation_id="files_rename",
        request=file_forms.RenameFile,
        responses=file_forms.FileOut,
    )
    def post(self, request: Request) -> Response:
        """Move the links of a file to its new path."""
        data = self.body(file_forms.RenameFile)
        project = self.project(data)

        def act() -> tuple[int, dict[str, Any]]:
            file = files.rename(
                project, data["old_path"], data["new_path"], self.caller
            )
            rows = File.objects.visible_to(self.caller).with_memory_count(self.caller)
            context = {"caller": self.caller}
            return 200, file_forms.FileOut(rows.get(pk=file.pk), context=context).data

        return self.run_once(project.pk, act)


class SyncFilesView(ProjectView):
    @extend_schema(
        operation_id="files_sync",
        request=file_forms.SyncFiles,
        responses=file_forms.SyncOut,
    )
    def post(self, request: Request) -> Response:
        """Report the present hashes of files. Links to other contents become suspect."""
        data = self.body(file_forms.SyncFiles)
        project = self.project(data)
        hashes = {item["path"]: item["hash"] for item in data["files"]}
        return self.run_once(
            project.pk, lambda: (200, files.sync(project, hashes, self.caller))
        )
