from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("playbook", "0012_attestation"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="entryvector",
            options={"ordering": ["entry_id", "chunk"]},
        ),
        migrations.RemoveConstraint(
            model_name="entryvector",
            name="entry_vector_once_per_model",
        ),
        migrations.AddField(
            model_name="entryvector",
            name="chunk",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddConstraint(
            model_name="entryvector",
            constraint=models.UniqueConstraint(
                fields=("entry", "model", "chunk"), name="entry_vector_once_per_chunk"
            ),
        ),
    ]
