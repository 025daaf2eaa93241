from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    """Remove the column `attempts`, which no code updated.

    The job of a run counts the attempts.
    """

    dependencies = [("ace", "0002_observation")]

    operations = [migrations.RemoveField(model_name="acerun", name="attempts")]
