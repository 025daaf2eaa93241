from __future__ import annotations

from typing import Any

from django.db import migrations


def enqueue(apps: Any, schema_editor: Any) -> None:
    """Let a job hash, index and embed the memories of each project anew."""
    memories = apps.get_model("memories", "Memory").objects
    job = apps.get_model("jobs", "Job")
    projects = memories.order_by().values_list("project_id", flat=True).distinct()
    job.objects.bulk_create(
        [
            job(kind="upgrade_texts", project_id=project_id, key=str(project_id))
            for project_id in projects
        ],
        ignore_conflicts=True,
    )


class Migration(migrations.Migration):
    dependencies = [("memories", "0015_chunks"), ("jobs", "0002_failed_jobs")]

    operations = [migrations.RunPython(enqueue, migrations.RunPython.noop)]
