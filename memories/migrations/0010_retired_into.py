from __future__ import annotations

from django.db import migrations, models

# The text that a promotion or compaction wrote as the reason of a deletion.
NAME_WHAT_CAME_OF_SOURCES = """
    UPDATE memories_memory
    SET retired_into = right(delete_reason, 36)::uuid
    WHERE deleted_at IS NOT NULL
    AND delete_reason ~ '^(promoted to|compacted into) [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0009_one_index_less")]

    operations = [
        migrations.AddField(
            model_name="memory",
            name="retired_into",
            field=models.UUIDField(blank=True, editable=False, null=True),
        ),
        migrations.RunSQL(NAME_WHAT_CAME_OF_SOURCES, migrations.RunSQL.noop),
    ]
