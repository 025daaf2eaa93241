"""Mark the quotes of a delta in the texts of the run that proposed the delta."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from ace.admin.run_panels import evidence_panel
from ace.models import AceRun
from ace.run_texts import text_reader
from common.admin.model_admin import caller_of
from common.admin.panels import Panel
from playbook.admin.deltas import PlaybookDeltaAdmin
from playbook.models import PlaybookDelta

# `playbook` does not know runs, so this module replaces the admin page of deltas.
admin.site.unregister(PlaybookDelta)


@admin.register(PlaybookDelta)
class RunDeltaAdmin(PlaybookDeltaAdmin):
    def evidence(self, request: HttpRequest, row: Any) -> Panel:
        runs = AceRun.objects.visible_to(caller_of(request))
        run = runs.filter(pk=row.run_id).first() if row.run_id else None
        if run is None:
            return super().evidence(request, row)
        return evidence_panel(row.evidence, text_reader(run))
