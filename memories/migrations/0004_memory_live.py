from __future__ import annotations

from django.db import migrations, models
from django.db.models import Case, F, Q, When


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0003_purges"),
    ]

    operations = [
        # The index is not built concurrently. A concurrent build waits for every open
        # statement, also for a second `migrate` that waits for the lock of the first one.
        # Building the index for a million rows takes seconds.
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                F("project"),
                Case(
                    When(~Q(user_id=""), then=F("user_id")),
                    When(scope_kind="user", then=F("scope_key")),
                    default=F("scope_user"),
                ),
                F("kind"),
                condition=Q(
                    archived_at__isnull=True,
                    deleted_at__isnull=True,
                    is_duplicate=False,
                    superseded_by__isnull=True,
                ),
                name="memory_live",
            ),
        ),
    ]
