from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

from common.drop_fk_index import DropFkIndex


class Migration(migrations.Migration):
    dependencies = [
        ("search", "0003_within_arms"),
    ]

    operations = [
        DropFkIndex(
            model_name="lexemestat",
            name="corpus",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="lexemes",
                to="search.corpus",
            ),
        ),
    ]
