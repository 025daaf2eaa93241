from __future__ import annotations

from importlib import import_module

from django.db import migrations

# What a lexeme adds to a row's BM25 score before the idf. The formula of 0001, there for
# each lexeme: lexemes of arms (`p:…`) and of tiers are no words.
BM25_IMPACTS = """
CREATE FUNCTION bm25_impacts(tsv tsvector) RETURNS TABLE (lexeme text, impact float8)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH counted AS (
        SELECT word.lexeme,
               (coalesce(cardinality(positions), 1)
                + coalesce(cardinality(array_positions(weights, 'A')), 0))::float8 AS tf
        FROM unnest(tsv) AS word
        WHERE positions IS NOT NULL
           OR word.lexeme !~ '^([pom]:[0-9a-f-]{36}$|[↑⇈])'
        ORDER BY tf DESC, word.lexeme LIMIT 16000
    ), total AS (SELECT sum(tf) AS length FROM counted)
    SELECT counted.lexeme, tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / 100))
    FROM counted, total;
END;
"""

BM25_TERMS = """
CREATE OR REPLACE FUNCTION bm25_terms(tsv tsvector) RETURNS sparsevec
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH hashed AS (
        SELECT lexeme_index(lexeme) AS i, max(impact) AS impact
        FROM bm25_impacts(tsv) GROUP BY 1
    )
    SELECT ('{' || coalesce(string_agg(
        i || ':' || round(impact::numeric, 5), ',' ORDER BY i), '') || '}/268435456')::sparsevec
    FROM hashed;
END;
"""

# A tiered index (Manning, Raghavan, Schütze 2008, 7.2.1): what adds at least 1.5, or 1.8,
# of the 2.2 that a lexeme can add stands once more under a name of its own, so that the
# best rows of a common lexeme are found without the others (docs/ranking.md). A lexeme
# takes 2,046 bytes at most, which `array_to_tsvector` does not check.
WITH_TIERS = """
CREATE FUNCTION with_tiers(tsv tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT tsv || array_to_tsvector(coalesce(array_agg(tier || lexeme), '{}'))
    FROM bm25_impacts(tsv)
    JOIN (VALUES ('↑', 1.5::float8), ('⇈', 1.8)) AS tiers (tier, least) ON impact >= least
    WHERE octet_length(lexeme) <= 2043;
END;
"""

BEFORE = import_module("search.migrations.0001_initial").BM25_TERMS.replace(
    "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"
)


class Migration(migrations.Migration):
    dependencies = [("search", "0001_initial")]

    operations = [
        migrations.RunSQL(BM25_IMPACTS, "DROP FUNCTION bm25_impacts(tsvector);"),
        migrations.RunSQL(BM25_TERMS, BEFORE),
        migrations.RunSQL(WITH_TIERS, "DROP FUNCTION with_tiers(tsvector);"),
    ]
