from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

from common.drop_fk_index import DropFkIndex


class Migration(migrations.Migration):
    dependencies = [
        ("ace", "0003_run_without_attempts"),
        ("projects", "0002_one_index_less"),
    ]

    operations = [
        DropFkIndex(
            model_name="acerun",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                to="projects.project",
            ),
        ),
        DropFkIndex(
            model_name="observation",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                to="projects.project",
            ),
        ),
    ]
