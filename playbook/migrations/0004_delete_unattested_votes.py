from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("playbook", "0003_delete_review_alarm")]

    operations = [migrations.DeleteModel(name="UnattestedVote")]
