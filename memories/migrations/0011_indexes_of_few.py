from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

from common.drop_fk_index import DropFkIndex


class Migration(migrations.Migration):
    """Leave rows out of two indexes if they have no value for the index.

    Few memories are duplicates or superseded. Before this migration, each insert wrote two
    nulls into the indexes.
    """

    dependencies = [("memories", "0010_retired_into")]

    operations = [
        migrations.AddIndex(
            "memory",
            # The index is not built concurrently, for the reason that 0004 gives.
            models.Index(
                fields=["superseded_by"],
                condition=models.Q(superseded_by__isnull=False),
                name="memory_superseded",
            ),
        ),
        DropFkIndex(
            model_name="memory",
            name="duplicate_of",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="duplicates",
                to="memories.memory",
            ),
        ),
        DropFkIndex(
            model_name="memory",
            name="superseded_by",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="supersedes",
                to="memories.memory",
            ),
        ),
    ]
