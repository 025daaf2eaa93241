from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0003_lines_of_keys")]

    operations = [
        migrations.AlterField("apikey", "line_id", models.UUIDField(editable=False)),
        # The index is not built concurrently, for the reason that memories 0004 gives.
        migrations.AddIndex(
            "apikey", models.Index(fields=["line_id"], name="key_line")
        ),
    ]
