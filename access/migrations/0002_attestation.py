from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0001_initial")]

    operations = [
        # Keys of before may not attest until an owner says so.
        migrations.AddField(
            "apikey",
            "may_attest",
            models.BooleanField(default=False, db_default=False),
        ),
        migrations.AddField(
            "apikey", "line_id", models.UUIDField(editable=False, null=True)
        ),
    ]
