from __future__ import annotations

from typing import Any

from django.db import migrations

from common.text import literals

BATCH = 500


def fill(apps: Any, schema_editor: Any) -> None:
    """Add the anchors of entries that were written before anchors existed."""
    entries = apps.get_model("playbook", "PlaybookEntry").objects.order_by("pk")
    anchors = apps.get_model("playbook", "Anchor").objects
    columns = entries.values_list("pk", "project_id", "content")
    for pk, project_id, content in columns.iterator(BATCH):
        anchors.bulk_create(
            anchors.model(entry_id=pk, project_id=project_id, file_path=path)
            for path in literals.find_paths(content)
        )


def empty(apps: Any, schema_editor: Any) -> None:
    apps.get_model("playbook", "Anchor").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("playbook", "0003_support_ends_by_a_change")]

    operations = [migrations.RunPython(fill, empty)]
