from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("inference", "0002_active_model")]

    operations = [
        migrations.AlterModelOptions(
            name="modelcall",
            options={"ordering": ["-id"], "verbose_name": "model call"},
        )
    ]
