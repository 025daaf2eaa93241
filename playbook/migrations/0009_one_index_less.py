from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

from common.drop_fk_index import DropFkIndex


class Migration(migrations.Migration):
    dependencies = [
        ("playbook", "0008_arms_of_lexemes"),
        ("projects", "0002_one_index_less"),
    ]

    operations = [
        DropFkIndex(
            model_name="anchor",
            name="entry",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="anchors",
                to="playbook.playbookentry",
            ),
        ),
        DropFkIndex(
            model_name="conflict",
            name="left",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="conflicts_as_left",
                to="playbook.playbookentry",
            ),
        ),
        DropFkIndex(
            model_name="deltavector",
            name="delta",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="vectors",
                to="playbook.playbookdelta",
            ),
        ),
        DropFkIndex(
            model_name="entryvector",
            name="entry",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="vectors",
                to="playbook.playbookentry",
            ),
        ),
        DropFkIndex(
            model_name="exposure",
            name="entry",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="exposures",
                to="playbook.playbookentry",
            ),
        ),
        DropFkIndex(
            model_name="playbookdelta",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                to="projects.project",
            ),
        ),
        DropFkIndex(
            model_name="playbookentry",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                to="projects.project",
            ),
        ),
        DropFkIndex(
            model_name="support",
            name="entry",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="supports",
                to="playbook.playbookentry",
            ),
        ),
    ]
