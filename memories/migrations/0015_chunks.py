from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0014_attested_links"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="memoryvector",
            options={"ordering": ["memory_id", "chunk"]},
        ),
        migrations.RemoveConstraint(
            model_name="memoryvector",
            name="vector_once_per_model",
        ),
        migrations.AddField(
            model_name="memoryvector",
            name="chunk",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddConstraint(
            model_name="memoryvector",
            constraint=models.UniqueConstraint(
                fields=("memory", "model", "chunk"), name="vector_once_per_chunk"
            ),
        ),
    ]
