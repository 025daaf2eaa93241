from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("playbook", "0008_fill_lesson_columns")]

    operations = [
        migrations.AddField(
            "exposure",
            "session",
            models.CharField(blank=True, db_default="", default="", max_length=32),
        ),
        migrations.AddField(
            "exposure",
            "is_withheld",
            models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddIndex(
            "exposure",
            models.Index(
                condition=models.Q(("session", ""), _negated=True),
                fields=["project", "at"],
                name="exposure_of_session",
            ),
        ),
    ]
