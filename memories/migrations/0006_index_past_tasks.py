from __future__ import annotations

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memories", "0005_index_named_workspaces")]

    operations = [
        AddIndexConcurrently(
            model_name="memory",
            index=models.Index(
                fields=["project"],
                condition=models.Q(
                    models.Q(
                        ("kind", "episode"),
                        models.Q(
                            ("kind", "note"),
                            models.Q(("goal", ""), _negated=True),
                            models.Q(("result", ""), _negated=True),
                        ),
                        _connector="OR",
                    ),
                    ("archived_at__isnull", True),
                    ("deleted_at__isnull", True),
                    ("is_duplicate", False),
                    ("superseded_by__isnull", True),
                ),
                name="memory_of_past_task",
            ),
        ),
    ]
