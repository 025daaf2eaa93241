from __future__ import annotations

from typing import Any

from django.db import migrations


def delete_settings(apps: Any, schema_editor: Any) -> None:
    projects = apps.get_model("projects", "Project").objects
    for project in projects.filter(settings__has_key="review").iterator():
        project.settings.pop("review")
        project.save(update_fields=["settings"])


class Migration(migrations.Migration):
    dependencies = [("projects", "0001_initial")]

    operations = [migrations.RunPython(delete_settings, migrations.RunPython.noop)]
