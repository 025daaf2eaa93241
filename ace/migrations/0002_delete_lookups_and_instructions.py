from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ace", "0001_initial")]

    operations = [
        migrations.DeleteModel(name="TaskInstructions"),
        migrations.DeleteModel(name="TaskLookup"),
    ]
