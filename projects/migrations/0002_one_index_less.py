from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

from common.key_index import DropKeyIndex


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0001_initial"),
    ]

    operations = [
        DropKeyIndex(
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
