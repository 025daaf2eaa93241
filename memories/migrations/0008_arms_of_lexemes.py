from __future__ import annotations

from django.db import migrations

from search.migrations._arms import within_arms


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0007_tiers"),
        ("search", "0003_within_arms"),
    ]

    operations = within_arms("memory", "memory")
