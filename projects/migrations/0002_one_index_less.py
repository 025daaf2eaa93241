from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

from common.drop_fk_index import DropFkIndex


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0001_initial"),
    ]

    operations = [
        DropFkIndex(
            model_name="membership",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="memberships",
                to="projects.project",
            ),
        ),
    ]
