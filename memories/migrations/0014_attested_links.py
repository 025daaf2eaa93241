from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0013_compaction_record")]

    operations = [
        # Every link counted before.
        migrations.AddField(
            model_name="memoryfile",
            name="is_attested",
            field=models.BooleanField(db_default=True, default=False),
        ),
        migrations.AlterField(
            model_name="memoryfile",
            name="is_attested",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
