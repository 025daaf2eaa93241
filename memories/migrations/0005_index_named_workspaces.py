from __future__ import annotations

import django.db.models.functions.comparison
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memories", "0004_name_organizations_by_id")]

    operations = [
        AddIndexConcurrently(
            model_name="memory",
            index=models.Index(
                condition=models.Q(
                    ("scope_kind", "workspace"),
                    models.Q(
                        (
                            "scope_key",
                            django.db.models.functions.comparison.Cast(
                                "project_id", models.CharField()
                            ),
                        ),
                        _negated=True,
                    ),
                    ("archived_at__isnull", True),
                    ("deleted_at__isnull", True),
                    ("is_duplicate", False),
                    ("superseded_by__isnull", True),
                ),
                fields=["project"],
                name="memory_named_workspace",
            ),
        ),
    ]
