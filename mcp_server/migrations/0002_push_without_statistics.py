from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("mcp_server", "0001_initial"),
    ]

    operations = [
        migrations.RemoveField(model_name="push", name="repair_id"),
        migrations.RemoveField(model_name="push", name="tokens"),
    ]
