from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("playbook", "0014_embed_long_entries")]

    operations = [
        migrations.AddField(
            model_name="playbookentry",
            name="applies_to",
            field=ArrayField(
                models.CharField(max_length=200),
                blank=True,
                db_default=[],
                default=list,
            ),
        ),
    ]
