from __future__ import annotations

from typing import Any

from django.db import migrations


def delete_settings(apps: Any, schema_editor: Any) -> None:
    projects = apps.get_model("projects", "Project").objects
    for project in projects.filter(settings__has_key="root_causes").iterator():
        project.settings.pop("root_causes")
        project.save(update_fields=["settings"])


class Migration(migrations.Migration):
    dependencies = [("projects", "0003_names_in_nfc")]

    operations = [migrations.RunPython(delete_settings, migrations.RunPython.noop)]
