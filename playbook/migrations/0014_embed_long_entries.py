from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.models.functions import Length

# In characters. A shorter text hardly has more tokens than the model reads.
LONG = 480


def embed_anew(apps: Any, schema_editor: Any) -> None:
    """Let a job embed long entries again, with a vector for each chunk.

    Their old vectors stay until then, so that the entries are found meanwhile.
    """
    entries = apps.get_model("playbook", "PlaybookEntry").objects
    job = apps.get_model("jobs", "Job")
    long = entries.annotate(size=Length("content")).filter(size__gt=LONG).order_by()
    projects = list(long.values_list("project_id", flat=True).distinct())
    job.objects.bulk_create(
        [
            job(kind="embed_long_entries", project_id=project_id, key=str(project_id))
            for project_id in projects
        ],
        ignore_conflicts=True,
    )


class Migration(migrations.Migration):
    dependencies = [("playbook", "0013_chunks"), ("jobs", "0002_failed_jobs")]

    operations = [migrations.RunPython(embed_anew, migrations.RunPython.noop)]
