from __future__ import annotations

from importlib import import_module

from django.db import migrations

# What the index holds: each lexeme once for each arm of its row, behind the arm's last
# eight letters, as `columns.lexeme_in_partition` writes it. So a project's rows of two lexemes are
# found without walking those of all projects. Sixteen letters whatever the word: 16,000
# words of two arms stay below the 1 MB of a tsvector, which `array_to_tsvector` does not
# check; others are not scored either (`bm25_impacts`). The arms stand there themselves too.
# Restricted: the planner takes each for one row in two hundred, and would start workers
# for a long query. The cost is a tenth of a millisecond.
WITHIN_ARMS = """
CREATE FUNCTION within_arms(tsv tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL RESTRICTED COST 4000
BEGIN ATOMIC
    WITH word AS MATERIALIZED (
        SELECT lexeme,
               coalesce(cardinality(positions), 1)
               + coalesce(cardinality(array_positions(weights, 'A')), 0) AS tf,
               positions IS NULL AND lexeme ~ '^[pom]:[0-9a-f-]{36}$' AS is_arm
        FROM unnest(tsv)
    ), arm AS MATERIALIZED (
        SELECT lexeme FROM word WHERE is_arm
    ), counted AS (
        SELECT left(md5(lexeme), 8) AS key FROM word
        WHERE NOT is_arm ORDER BY tf DESC, lexeme LIMIT 16000
    )
    SELECT array_to_tsvector(
        ARRAY(SELECT lexeme FROM arm)
        || ARRAY(SELECT right(arm.lexeme, 8) || counted.key FROM arm, counted)
    );
END;
"""
BEFORE = import_module("search.migrations.0001_initial").TSVECTOR_IS_READ


class Migration(migrations.Migration):
    dependencies = [("search", "0002_tiers")]

    operations = [
        migrations.RunSQL(WITHIN_ARMS, "DROP FUNCTION within_arms(tsvector);"),
        migrations.RunSQL("DROP FUNCTION tsvector_is_read(tsvector);", BEFORE),
    ]
