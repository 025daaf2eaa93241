from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ace", "0004_one_index_less")]

    operations = [
        migrations.AddField(
            "acerun", "account_id", models.BigIntegerField(blank=True, null=True)
        ),
        migrations.AddField(
            "acerun",
            "is_attested",
            models.BooleanField(default=False, db_default=False),
        ),
    ]
