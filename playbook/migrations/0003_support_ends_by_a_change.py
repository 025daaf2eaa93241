from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0002_file_changed_at"),
        ("playbook", "0002_learning"),
    ]

    operations = [
        migrations.AlterField(
            model_name="support",
            name="memory",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="supports",
                to="memories.memory",
            ),
        ),
    ]
