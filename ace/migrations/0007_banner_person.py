from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ace", "0006_known_fixes")]

    operations = [
        migrations.AddField(
            model_name="bannerline",
            name="person",
            field=models.CharField(
                blank=True, db_default="", default="", max_length=32
            ),
        ),
    ]
