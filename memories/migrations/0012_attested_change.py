from __future__ import annotations

from django.db import migrations, models

# Every report counted before.
BELIEVE_EARLIER_REPORTS = """
    UPDATE memories_file SET
        attested_change_at = changed_at,
        attested_hash = CASE
            WHEN last_seen_at < changed_at THEN 'gone' ELSE last_content_hash
        END
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0011_indexes_of_few")]

    operations = [
        migrations.AddField(
            model_name="file",
            name="attested_change_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="file",
            name="attested_hash",
            field=models.CharField(blank=True, db_default="", max_length=128),
        ),
        migrations.RunSQL(BELIEVE_EARLIER_REPORTS, migrations.RunSQL.noop),
    ]
