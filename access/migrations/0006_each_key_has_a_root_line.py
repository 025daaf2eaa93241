from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0005_root_lines_of_keys")]

    operations = [
        migrations.AlterField(
            "apikey", "root_line_id", models.UUIDField(editable=False)
        ),
    ]
