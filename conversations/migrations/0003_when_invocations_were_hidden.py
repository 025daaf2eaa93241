from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0002_agents")]

    operations = [
        migrations.AddField(
            model_name="session",
            name="invocations_hidden_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
