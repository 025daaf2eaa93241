from __future__ import annotations

from django.db import migrations, models

# The record of a compaction stood in the metadata, where a caller may have keys of the same
# names. What has the form that the service wrote is the service's.
TAKE_RECORD_FROM_METADATA = """
    WITH ours AS (
        SELECT id,
            jsonb_typeof(metadata->'compaction') = 'object'
            AND (metadata->'compaction') ?& ARRAY['level', 'model', 'generation']
            AND (metadata->'compaction')
                - ARRAY['level', 'model', 'generation'] = '{}'::jsonb
            AND metadata->'compaction'->>'level'
                IN ('model', 'shorter', 'extractive', 'cut') AS has_summary,
            jsonb_typeof(metadata->'compacted_provenance') = 'array'
            AND NOT jsonb_path_exists(
                metadata, '$.compacted_provenance[*] ? (!exists(@.id))'
            )
            AND NOT jsonb_path_exists(
                metadata,
                '$.compacted_provenance[*].keyvalue() ? (
                    @.key != "id" && @.key != "agent_id" && @.key != "source"
                    && @.key != "confidence" && @.key != "promoted_from"
                    && @.key != "compacted_from" && @.key != "created_in_session_id"
                    && @.key != "provenance"
                )',
                '{}', silent => true
            ) AS has_provenance
        FROM memories_memory
        WHERE (promoted_from IS NOT NULL OR compacted_from <> '{}')
        AND metadata ?| ARRAY['compaction', 'compacted_provenance']
    )
    UPDATE memories_memory AS memory
    SET compaction =
            CASE WHEN has_summary THEN metadata->'compaction' ELSE '{}'::jsonb END
            || CASE WHEN has_provenance THEN jsonb_build_object(
                'provenance', metadata->'compacted_provenance'
            ) ELSE '{}'::jsonb END,
        metadata = metadata - array_remove(ARRAY[
            CASE WHEN has_summary THEN 'compaction' END,
            CASE WHEN has_provenance THEN 'compacted_provenance' END
        ], NULL)
    FROM ours
    WHERE memory.id = ours.id AND (has_summary OR has_provenance)
"""
# A promoted copy did not name the sources of a compaction.
NAME_SOURCES_OF_PROMOTED = """
    WITH RECURSIVE origin (copy, id) AS (
        SELECT id, promoted_from FROM memories_memory
        WHERE promoted_from IS NOT NULL AND compacted_from = '{}'
        UNION
        SELECT origin.copy, memory.promoted_from
        FROM origin JOIN memories_memory AS memory ON memory.id = origin.id
        WHERE memory.promoted_from IS NOT NULL AND memory.compacted_from = '{}'
    )
    UPDATE memories_memory AS memory
    SET compacted_from = source.compacted_from
    FROM origin JOIN memories_memory AS source ON source.id = origin.id
    WHERE memory.id = origin.copy AND source.compacted_from <> '{}'
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0012_attested_change")]

    operations = [
        migrations.AddField(
            model_name="memory",
            name="compaction",
            field=models.JSONField(blank=True, default=dict, editable=False),
        ),
        migrations.RunSQL(TAKE_RECORD_FROM_METADATA, migrations.RunSQL.noop),
        migrations.RunSQL(NAME_SOURCES_OF_PROMOTED, migrations.RunSQL.noop),
    ]
