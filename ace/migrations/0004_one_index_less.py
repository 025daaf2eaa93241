from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ace", "0003_run_without_attempts"),
        ("projects", "0002_one_index_less"),
    ]

    operations = [
        migrations.AlterField(
            model_name="acerun",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                to="projects.project",
            ),
        ),
        migrations.AlterField(
            model_name="observation",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                to="projects.project",
            ),
        ),
    ]
