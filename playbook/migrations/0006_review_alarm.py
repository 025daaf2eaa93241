from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("playbook", "0005_order_of_the_inbox")]

    operations = [
        migrations.AddField(
            "playbook",
            "alarmed_at",
            models.DateTimeField(blank=True, null=True),
        ),
    ]
