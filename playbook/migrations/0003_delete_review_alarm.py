from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("playbook", "0002_delete_correct_operation")]

    operations = [migrations.RemoveField(model_name="playbook", name="alarmed_at")]
