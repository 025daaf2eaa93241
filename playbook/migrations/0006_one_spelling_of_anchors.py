"""Write the paths that rules name as `common.text.paths` writes those of files."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from common.text.paths import clean_path


def clean_anchors(apps: Any, schema_editor: Any) -> None:
    anchors = apps.get_model("playbook", "Anchor").objects
    for anchor in anchors.iterator(chunk_size=1000):
        path = clean_path(anchor.file_path) or anchor.file_path
        if path == anchor.file_path:
            continue
        if anchors.filter(entry_id=anchor.entry_id, file_path=path).exists():
            anchor.delete()
        else:
            anchors.filter(pk=anchor.pk).update(file_path=path)


class Migration(migrations.Migration):
    dependencies = [
        ("playbook", "0005_delete_conflict"),
        ("memories", "0003_one_spelling"),
    ]
    operations = [migrations.RunPython(clean_anchors, migrations.RunPython.noop)]
