from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

from common.drop_fk_index import DropFkIndex


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0008_arms_of_lexemes"),
        ("projects", "0002_one_index_less"),
    ]

    operations = [
        DropFkIndex(
            model_name="file",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                to="projects.project",
            ),
        ),
        DropFkIndex(
            model_name="memory",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                to="projects.project",
            ),
        ),
        DropFkIndex(
            model_name="memoryfile",
            name="file",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="links",
                to="memories.file",
            ),
        ),
        DropFkIndex(
            model_name="memoryfile",
            name="memory",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="file_links",
                to="memories.memory",
            ),
        ),
        DropFkIndex(
            model_name="memoryvector",
            name="memory",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="vectors",
                to="memories.memory",
            ),
        ),
        DropFkIndex(
            model_name="possibleduplicate",
            name="memory",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="doubts_as_newer",
                to="memories.memory",
            ),
        ),
        DropFkIndex(
            model_name="purge",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                to="projects.project",
            ),
        ),
        DropFkIndex(
            model_name="purgedtext",
            name="purge",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="texts",
                to="memories.purge",
            ),
        ),
        DropFkIndex(
            model_name="tag",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                to="projects.project",
            ),
        ),
    ]
