from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("playbook", "0004_delete_unattested_votes")]
    operations = [migrations.DeleteModel("Conflict")]
