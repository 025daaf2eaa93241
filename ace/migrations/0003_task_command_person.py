from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ace", "0002_delete_lookups_and_instructions")]

    operations = [
        migrations.AddField(
            "taskcommand",
            "person",
            models.CharField(blank=True, db_default="", default="", max_length=32),
        ),
    ]
