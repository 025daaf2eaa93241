from __future__ import annotations

from typing import Any

from django.db import migrations, models


def delete_wishes(apps: Any, schema_editor: Any) -> None:
    apps.get_model("mcp_server", "Push").objects.filter(kind="wish").delete()


class Migration(migrations.Migration):
    dependencies = [("mcp_server", "0002_push_without_statistics")]

    operations = [
        migrations.RunPython(delete_wishes, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="push",
            name="kind",
            field=models.CharField(
                choices=[
                    ("card", "Card"),
                    ("rule", "Rule"),
                    ("memory", "Memory"),
                    ("fix", "Fix"),
                    ("notice", "Notice"),
                ],
                max_length=8,
            ),
        ),
    ]
