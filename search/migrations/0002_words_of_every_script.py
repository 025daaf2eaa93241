"""Write the lexemes of all rows again, because `common.text.tokenise` makes other words."""

from __future__ import annotations

from typing import Any

from django.db import migrations


def enqueue_reindex(apps: Any, schema_editor: Any) -> None:
    """Insert the job that also follows a change of a project's language."""
    job = apps.get_model("jobs", "Job")
    projects = apps.get_model("projects", "Project").objects.values_list(
        "pk", flat=True
    )
    job.objects.bulk_create(
        [job(kind="reindex", project_id=project_id) for project_id in projects]
    )


class Migration(migrations.Migration):
    dependencies = [
        ("search", "0001_initial"),
        ("jobs", "0001_initial"),
        ("projects", "0002_delete_review_settings"),
    ]

    operations = [migrations.RunPython(enqueue_reindex, migrations.RunPython.noop)]
