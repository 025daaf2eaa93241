from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0001_initial")]

    operations = [
        migrations.AddField(
            "apikey",
            "acts_for_users",
            models.BooleanField(db_default=False, default=False),
        ),
    ]
