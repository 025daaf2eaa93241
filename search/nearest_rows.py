"""The semantic lane of a search: the nearest rows, and what both lanes think of each."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import connections
from django.db.models import Model

from inference.embedding.vector import Vector
from search import bm25, postings, semantic, vector_index
from search.bm25 import QUERY_WEIGHTS, RELEVANCE
from search.postings import MATCHES_TSQUERY
from search.row_filter import RowFilter, SqlFragment, quote_table
from search.search_plan import Candidate, Candidates, ProbeStats, SearchPlan


def add_candidates(asked: SearchPlan, vector: Vector, words: Candidates) -> Candidates:
    """The nearest rows beside those found by words, and each scored in both lanes.

    Most often enough of the project's NEAREST vectors pass the filters, which are then
    asked of those alone, or of WIDER times as many. Else the filters leave few rows, and
    these are scanned: an index would go through most of the project for them, and lose
    some. A statement each, as the plan of the scan takes as long as the look.
    """
    if asked.rows is None:
        return words
    search = _NearestSearch(asked, asked.rows, vector, words)
    found = search.near(semantic.NEAREST)
    look = found.look
    if not look.is_enough and look.passed * semantic.WIDEN_FACTOR >= asked.enough:
        found = search.near(semantic.NEAREST * semantic.WIDEN_FACTOR, goes_on=True)
    if found.look.is_enough:
        return found
    return replace(search.scan(), look=found.look)


@dataclass(frozen=True)
class _NearestSearch:
    asked: SearchPlan
    rows: RowFilter
    vector: Vector
    words: Candidates

    def near(self, nearest: int, *, goes_on: bool = False) -> Candidates:
        """Of the project's nearest rows those that pass; none when they are too few."""
        model, project_id = self.rows.model, self.asked.project_id
        near = _nearest_vectors(
            model, self.vector, project_id, nearest, goes_on=goes_on
        )
        lanes = {"passed": _passing_rows(self.rows, self.asked.depth), **self._shared()}
        index = _index_name(model, self.vector, project_id)
        look = _probe_stats(nearest, self.asked.enough, index)
        return self._found({"nearest": near, **lanes, "look": look}, lanes)

    def scan(self) -> Candidates:
        """The nearest of all rows that pass."""
        where = _require_lexemes(self.asked, self.rows.condition)
        scanned = _exact_scan(self.rows, where, self.vector, self.asked.depth)
        return self._found({"every": scanned, "look": NO_PROBE}, ["every"])

    def _shared(self) -> dict[str, SqlFragment]:
        """What other projects share, which is in no index of this one."""
        if not (shared := self.asked.arms[1:]):
            return {}
        condition, params = self.rows.condition
        elsewhere = (
            f"{condition} AND {self.rows.table}.project_id <> %s AND {MATCHES_TSQUERY}"
        )
        arms = " | ".join(f"'{arm}'" for arm in shared)
        given = [*params, self.asked.project_id, arms]
        where = elsewhere, given
        return {"shared": _exact_scan(self.rows, where, self.vector, self.asked.depth)}

    def _found(
        self, found: Mapping[str, SqlFragment], lanes: Iterable[str]
    ) -> Candidates:
        """What these lanes found, if it is enough, with what words found."""
        every = " UNION ALL ".join(f"SELECT * FROM {lane}" for lane in lanes)
        nearest = f"""
        SELECT * FROM ({every}) AS found WHERE {IS_ENOUGH}
        ORDER BY distance, id DESC LIMIT {self.asked.depth}"""
        parts: dict[str, SqlFragment] = {
            **_keyword_ctes(self.asked, self.words),
            "meaning": _query_vector(self.vector),
            **found,
            "semantic": (nearest, []),
            "scored": _both_scores(self.rows, self.asked, self.vector),
        }
        named = [f"{name} AS MATERIALIZED ({sql})" for name, (sql, _) in parts.items()]
        params = [value for _, values in parts.values() for value in values]
        with connections[self.rows.using].cursor() as cursor:
            cursor.execute(f"WITH {', '.join(named)} {ANSWER}", params)
            *columns, near, look = cursor.fetchone()
        return replace(
            self.words,
            candidates=list(map(Candidate, *(column or () for column in columns))),
            by_meaning=near,
            look=ProbeStats(**look),
        )


DISTANCE = "embedding <=> (SELECT vector FROM meaning)"
ANSWER = """
SELECT array_agg(id), array_agg(relevance), array_agg(cosine),
       (SELECT count(*) FROM semantic),
       (SELECT to_json(look) FROM look)
FROM scored"""
IS_ENOUGH = "(SELECT is_enough FROM look)"
NO_PROBE: SqlFragment = ("SELECT 0 AS nearest, 0 AS passed, true AS is_enough", [])


def _keyword_ctes(asked: SearchPlan, words: Candidates) -> dict[str, SqlFragment]:
    """Where words rank as well: what they weigh, and what their lane has found already."""
    if not asked.terms:
        return {}
    ids = [each.id for each in words.candidates]
    relevances = [each.keyword for each in words.candidates]
    known = "SELECT * FROM unnest(%s::uuid[], %s::float8[]) AS known (id, relevance)"
    return {
        "question": (QUERY_WEIGHTS, [bm25.weights_literal(asked.terms)]),
        "keyword": (known, [ids, relevances]),
    }


def _query_vector(vector: Vector) -> SqlFragment:
    return "SELECT %s::halfvec AS vector", [vector.text]


def _nearest_vectors(
    model: type[Model],
    vector: Vector,
    project_id: uuid.UUID,
    nearest: int,
    *,
    goes_on: bool,
) -> SqlFragment:
    vectors, owner = _vector_table(model)
    # Only an order by the very expression of `vector_indexes` can use an index.
    width = f"halfvec({len(vector)})"
    distance = f"embedding::{width} <=> (SELECT vector::{width} FROM meaning)"
    searched = semantic.hnsw_options(semantic.ef_search(nearest), goes_on=goes_on)
    sql = f"""
    SELECT {owner} AS id, {distance} AS distance FROM {vectors}
    WHERE {searched} AND project_id = %s AND model = %s
    ORDER BY {distance}, {owner} DESC LIMIT {nearest}"""
    return sql, [project_id, vector.model]


def _passing_rows(rows: RowFilter, depth: int) -> SqlFragment:
    # In the order of the rows within, what is not needed is not looked up
    # (from PostgreSQL 17 on; before, all are, and then sorted).
    condition, params = rows.condition
    sql = f"""
    SELECT nearest.id, distance FROM nearest
    JOIN {rows.table} ON {rows.table}.id = nearest.id
    WHERE {condition} ORDER BY distance, nearest.id DESC LIMIT {depth}"""
    return sql, params


def _probe_stats(nearest: int, enough: int, index: str) -> SqlFragment:
    """Rows that are not in the look are not there, unless an index hides them behind
    deleted ones."""
    seen = "(SELECT count(*) FROM nearest)"
    sql = f"""
    SELECT CASE WHEN passed >= {enough} THEN {nearest} ELSE {seen} END AS nearest, passed,
           passed >= {enough}
               OR ({seen} < {nearest} AND to_regclass(%s) IS NULL) AS is_enough
    FROM (SELECT count(*) AS passed FROM passed) AS counted"""
    return sql, [index]


def _require_lexemes(asked: SearchPlan, condition: SqlFragment) -> SqlFragment:
    """The rows of a condition, found by the lexemes that all of them hold."""
    if not asked.held:
        return condition
    sql, params = condition
    return f"{sql} AND {MATCHES_TSQUERY}", [
        *params,
        postings.partition_tsquery(asked.arms, [], asked.held),
    ]


def _exact_scan(
    rows: RowFilter, where: SqlFragment, vector: Vector, depth: int
) -> SqlFragment:
    """The nearest of all rows that pass."""
    vectors, owner = _vector_table(rows.model)
    table = rows.table
    condition, params = where
    sql = f"""
    SELECT {owner} AS id, {DISTANCE} AS distance FROM {vectors}
    WHERE model = %s AND EXISTS (
        SELECT FROM {table} WHERE {condition}
        AND {table}.id = {owner} AND {table}.project_id = {vectors}.project_id)
    ORDER BY distance, id DESC LIMIT {depth}"""
    return sql, [vector.model, *params]


def _both_scores(rows: RowFilter, asked: SearchPlan, vector: Vector) -> SqlFragment:
    """Each candidate in both lanes: what only one lane found is looked up for the other."""
    if not asked.terms:
        return (
            "SELECT id, 0::float8 AS relevance, 1 - distance AS cosine FROM semantic",
            [],
        )
    vectors, owner = _vector_table(rows.model)
    words = f"SELECT {RELEVANCE} FROM {rows.table} WHERE {rows.table}.id = found.id"
    meaning = (
        f"SELECT {DISTANCE} FROM {vectors} WHERE {owner} = found.id AND model = %s"
    )
    sql = f"""
    SELECT found.id, coalesce(relevance, ({words}), 0) AS relevance,
           1 - coalesce(distance, ({meaning})) AS cosine
    FROM (SELECT id FROM keyword UNION SELECT id FROM semantic) AS found
    LEFT JOIN keyword USING (id) LEFT JOIN semantic USING (id) WHERE {IS_ENOUGH}"""
    return sql, [vector.model]


def _vector_table(model: type[Model]) -> tuple[str, str]:
    """The table of a model's vectors, and its column of the model's rows."""
    relation = semantic.vectors_of(model)
    table = quote_table(relation.related_model)
    return table, f'{table}."{relation.field.column}"'


def _index_name(model: type[Model], vector: Vector, project_id: uuid.UUID) -> str:
    vectors = semantic.vectors_of(model).related_model
    return vector_index.index_name(vectors, project_id, vector.model)


def describe_scan(
    look: ProbeStats,
    model: type[Model],
    vector: Vector,
    project_id: uuid.UUID,
) -> dict[str, Any]:
    """What `explain` says of the semantic lane: index or exact, and why."""
    if not look.is_enough:
        nearest = f"the project's {look.nearest} nearest rows"
        return {"how": "exact", "why": f"{look.passed} of {nearest} pass the filters"}
    index = _index_name(model, vector, project_id)
    # A look that saw fewer rows than it asked for, and has enough, saw all.
    is_all = look.nearest < semantic.NEAREST
    if not is_all and index in _explain_nearest(
        model, vector, project_id, look.nearest
    ):
        why = "the project has an index of its own"
        ef_search = semantic.ef_search(look.nearest)
        return {"how": "index", "why": why, "ef_search": ef_search}
    least = vector_index.MIN_ROWS
    return {"how": "exact", "why": f"no index: fewer than {least} rows, or not built"}


def _explain_nearest(
    model: type[Model], vector: Vector, project_id: uuid.UUID, rows: int
) -> str:
    meaning, literal = _query_vector(vector)
    nearest, params = _nearest_vectors(model, vector, project_id, rows, goes_on=False)
    with connections[model._base_manager.db].cursor() as cursor:
        cursor.execute(
            f"EXPLAIN WITH meaning AS MATERIALIZED ({meaning}) {nearest}",
            [*literal, *params],
        )
        return "\n".join(line for (line,) in cursor.fetchall())
