from __future__ import annotations

from django.db import migrations

from search.migrations._tiers import WITH, WITHOUT, written

TABLE = "playbook_playbookentry"


class Migration(migrations.Migration):
    """Write every row again. A million rows take half an hour."""

    atomic = False  # each batch of rows is a transaction

    dependencies = [
        ("playbook", "0006_review_alarm"),
        ("search", "0002_tiers"),
    ]

    operations = [
        migrations.RunPython(written(TABLE, WITH), written(TABLE, WITHOUT)),
    ]
