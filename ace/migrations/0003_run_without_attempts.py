from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    """Nothing ever counted them: attempts are those of the run's job."""

    dependencies = [("ace", "0002_observation")]

    operations = [migrations.RemoveField(model_name="acerun", name="attempts")]
