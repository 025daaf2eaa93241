from __future__ import annotations

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memories", "0006_index_past_tasks")]

    operations = [
        AddIndexConcurrently(
            model_name="memory",
            index=models.Index(
                condition=models.Q(
                    ("kind__in", ("fact", "note", "procedure")),
                    models.Q(
                        ("tags__contains", ["pinned"]),
                        models.Q(
                            ("created_in_session_id", ""),
                            ("kind", "fact"),
                            models.Q(("provenance__has_key", "quoted"), _negated=True),
                        ),
                        models.Q(("result", ""), ("source", "user")),
                        _connector="OR",
                    ),
                    ("archived_at__isnull", True),
                    ("deleted_at__isnull", True),
                    ("superseded_by__isnull", True),
                ),
                fields=["project"],
                name="memory_told",
            ),
        ),
        AddIndexConcurrently(
            model_name="memoryexposure",
            index=models.Index(
                condition=models.Q(("used_as", ""), _negated=True),
                fields=["memory"],
                name="memory_exposure_used",
            ),
        ),
    ]
