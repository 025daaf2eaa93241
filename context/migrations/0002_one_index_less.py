from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

from common.drop_fk_index import DropFkIndex


class Migration(migrations.Migration):
    dependencies = [
        ("context", "0001_digest_config"),
        ("projects", "0002_one_index_less"),
    ]

    operations = [
        DropFkIndex(
            model_name="digestconfig",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                to="projects.project",
            ),
        ),
    ]
