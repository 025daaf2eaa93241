"""The semantic lane of a search: find the nearest rows, score all candidates in both lanes.

`semantic` has the lane's numbers; the statements are here. A long text has several vectors,
one for each chunk, and the distance of a row is that of its nearest chunk.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import connections
from django.db.models import Model

from inference.embedding.chunks import MAX_CHUNKS
from inference.embedding.vector import Vector
from search import bm25, postings, semantic, vector_index
from search.bm25 import QUERY_WEIGHTS, RELEVANCE
from search.postings import MATCHES_TSQUERY
from search.row_filter import RowFilter, SqlFragment, quote_table
from search.search_plan import Candidate, Candidates, ProbeStats, SearchPlan


def add_candidates(
    plan: SearchPlan, vector: Vector, candidates: Candidates
) -> Candidates:
    """Add the nearest rows to the keyword candidates and score each in both lanes.

    First probe the project's NEAREST vectors and keep their rows that pass the filters.
    Most often these rows are enough. If too few rows pass, there are two ways to go on.
    If WIDEN_FACTOR times as many vectors promise enough rows, probe that many.
    Otherwise scan all rows that pass the filters, because an index search would visit
    most of the project and miss some rows. Each step is a separate statement, because
    planning the scan takes as long as the probe. Where the filters keep few rows, scan at
    once.
    """
    if plan.rows is None:
        return candidates
    search = _NearestSearch(plan, plan.rows, vector, candidates)
    if plan.is_narrow:
        return replace(search.scan(), probe=ProbeStats(is_enough=False))
    nearest = search.probe(semantic.NEAREST)
    stats = nearest.probe
    if not stats.is_enough and stats.matches * semantic.WIDEN_FACTOR >= plan.enough:
        nearest = search.probe(semantic.NEAREST * semantic.WIDEN_FACTOR, iterative=True)
    if nearest.probe.is_enough:
        return nearest
    return replace(search.scan(), probe=nearest.probe)


@dataclass(frozen=True)
class _NearestSearch:
    plan: SearchPlan
    rows: RowFilter
    vector: Vector
    keyword: Candidates

    def probe(self, nearest: int, *, iterative: bool = False) -> Candidates:
        """Add the project's nearest rows that pass the filters; add none if too few pass."""
        model, project_id = self.rows.model, self.plan.project_id
        vectors = _nearest_vectors(
            model, self.vector, project_id, nearest, iterative=iterative
        )
        lanes = {
            "matches": _passing_rows(self.rows, self.plan.depth),
            **self._shared_rows(),
        }
        index = _index_name(model, self.vector, project_id)
        stats = _probe_stats(nearest, self.plan.enough, index)
        ctes = {"nearest": vectors, "nearest_rows": NEAREST_ROWS, **lanes}
        return self._run({**ctes, "probe": stats}, lanes)

    def scan(self) -> Candidates:
        """Find the nearest rows among all rows that pass the filters."""
        where = _require_lexemes(self.plan, self.rows.condition)
        every = _exact_scan(self.rows, where, self.vector, self.plan.depth)
        return self._run({"every": every, "probe": NO_PROBE}, ["every"])

    def _shared_rows(self) -> dict[str, SqlFragment]:
        """Return the rows that other projects share; this project's index does not hold them."""
        if not (shared := self.plan.partitions[1:]):
            return {}
        condition, params = self.rows.condition
        elsewhere = (
            f"{condition} AND {self.rows.table}.project_id <> %s AND {MATCHES_TSQUERY}"
        )
        tsquery = " | ".join(f"'{partition}'" for partition in shared)
        where = elsewhere, [*params, self.plan.project_id, tsquery]
        return {"shared": _exact_scan(self.rows, where, self.vector, self.plan.depth)}

    def _run(self, ctes: Mapping[str, SqlFragment], lanes: Iterable[str]) -> Candidates:
        """Run one statement that scores its rows (if enough) and the keyword candidates."""
        every = " UNION ALL ".join(f"SELECT * FROM {lane}" for lane in lanes)
        nearest = f"""
        SELECT * FROM ({every}) AS found WHERE {IS_ENOUGH}
        ORDER BY distance, id DESC LIMIT {self.plan.depth}"""
        fragments: dict[str, SqlFragment] = {
            **_keyword_ctes(self.plan, self.keyword),
            "meaning": _query_vector(self.vector),
            **ctes,
            "semantic": (nearest, []),
            "scored": _both_scores(self.rows, self.plan, self.vector),
        }
        clauses = [
            f"{name} AS MATERIALIZED ({sql})" for name, (sql, _) in fragments.items()
        ]
        params = [value for _, values in fragments.values() for value in values]
        with connections[self.rows.using].cursor() as cursor:
            cursor.execute(f"WITH {', '.join(clauses)} {ANSWER}", params)
            *columns, count, stats = cursor.fetchone()
        return replace(
            self.keyword,
            rows=list(map(Candidate, *(column or () for column in columns))),
            semantic_count=count,
            probe=ProbeStats(**stats),
        )


DISTANCE = "embedding <=> (SELECT vector FROM meaning)"
ANSWER = """
SELECT array_agg(id), array_agg(relevance), array_agg(cosine),
       (SELECT count(*) FROM semantic),
       (SELECT to_json(probe) FROM probe)
FROM scored"""
IS_ENOUGH = "(SELECT is_enough FROM probe)"
NEAREST_ROWS: SqlFragment = (
    "SELECT id, min(distance) AS distance FROM nearest GROUP BY id",
    [],
)
NO_PROBE: SqlFragment = ("SELECT 0 AS nearest, 0 AS matches, true AS is_enough", [])


def _keyword_ctes(plan: SearchPlan, keyword: Candidates) -> dict[str, SqlFragment]:
    """Return CTEs of the keyword lane's weights and candidates; none if it does not run."""
    if not plan.terms:
        return {}
    ids = [each.id for each in keyword.rows]
    relevances = [each.keyword for each in keyword.rows]
    known = "SELECT * FROM unnest(%s::uuid[], %s::float8[]) AS known (id, relevance)"
    return {
        "question": (QUERY_WEIGHTS, [bm25.weights_literal(plan.terms)]),
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
    iterative: bool,
) -> SqlFragment:
    vectors, owner = _vector_table(model)
    # Only an ORDER BY with the very expression of `vector_index` can use an index.
    width = f"halfvec({len(vector)})"
    distance = f"embedding::{width} <=> (SELECT vector::{width} FROM meaning)"
    options = semantic.hnsw_options(semantic.ef_search(nearest), iterative=iterative)
    sql = f"""
    SELECT {owner} AS id, {distance} AS distance FROM {vectors}
    WHERE {options} AND project_id = %s AND model = %s
    ORDER BY {distance}, {owner} DESC LIMIT {nearest}"""
    return sql, [project_id, vector.model]


def _passing_rows(rows: RowFilter, depth: int) -> SqlFragment:
    # This is the order of `nearest`. From PostgreSQL 17 on, rows after the limit are
    # then not looked up. Older versions look up all rows and sort them.
    condition, params = rows.condition
    sql = f"""
    SELECT nearest_rows.id, distance
    FROM (SELECT * FROM nearest_rows ORDER BY distance, id DESC) AS nearest_rows
    JOIN {rows.table} ON {rows.table}.id = nearest_rows.id
    WHERE {condition} ORDER BY distance, nearest_rows.id DESC LIMIT {depth}"""
    return sql, params


def _probe_stats(nearest: int, enough: int, index: str) -> SqlFragment:
    """Return the ProbeStats of a probe.

    A probe that found fewer vectors than requested has read all vectors of the project.
    This does not hold with an index, because deleted rows in the index may hide others.
    """
    read = "(SELECT count(*) FROM nearest)"
    sql = f"""
    SELECT CASE WHEN matches >= {enough} THEN {nearest} ELSE {read} END AS nearest, matches,
           matches >= {enough}
               OR ({read} < {nearest} AND to_regclass(%s) IS NULL) AS is_enough
    FROM (SELECT count(*) AS matches FROM matches) AS counted"""
    return sql, [index]


def _require_lexemes(plan: SearchPlan, condition: SqlFragment) -> SqlFragment:
    """Narrow a condition to rows with all required lexemes, so that an index can be used."""
    if not plan.required_lexemes:
        return condition
    sql, params = condition
    required = postings.partition_tsquery(plan.partitions, [], plan.required_lexemes)
    return f"{sql} AND {MATCHES_TSQUERY}", [*params, required]


def _exact_scan(
    rows: RowFilter, where: SqlFragment, vector: Vector, depth: int
) -> SqlFragment:
    """Return a statement part that selects the nearest of all rows that pass the filters."""
    vectors, owner = _vector_table(rows.model)
    table = rows.table
    condition, params = where
    # The nearest chunks have at least `depth` different rows, and so no row is lost.
    chunks = depth * MAX_CHUNKS
    sql = f"""
    SELECT id, min(distance) AS distance FROM (
        SELECT {owner} AS id, {DISTANCE} AS distance FROM {vectors}
        WHERE model = %s AND EXISTS (
            SELECT FROM {table} WHERE {condition}
            AND {table}.id = {owner} AND {table}.project_id = {vectors}.project_id)
        ORDER BY distance, id DESC LIMIT {chunks}
    ) AS chunks GROUP BY id ORDER BY distance, id DESC LIMIT {depth}"""
    return sql, [vector.model, *params]


def _both_scores(rows: RowFilter, plan: SearchPlan, vector: Vector) -> SqlFragment:
    """Score each candidate in both lanes, even if only one lane found the candidate."""
    if not plan.terms:
        return (
            "SELECT id, 0::float8 AS relevance, 1 - distance AS cosine FROM semantic",
            [],
        )
    vectors, owner = _vector_table(rows.model)
    relevance = f"SELECT {RELEVANCE} FROM {rows.table} WHERE {rows.table}.id = found.id"
    distance = (
        f"SELECT min({DISTANCE}) FROM {vectors} WHERE {owner} = found.id AND model = %s"
    )
    sql = f"""
    SELECT found.id, coalesce(relevance, ({relevance}), 0) AS relevance,
           1 - coalesce(distance, ({distance})) AS cosine
    FROM (SELECT id FROM keyword UNION SELECT id FROM semantic) AS found
    LEFT JOIN keyword USING (id) LEFT JOIN semantic USING (id) WHERE {IS_ENOUGH}"""
    return sql, [vector.model]


def _vector_table(model: type[Model]) -> tuple[str, str]:
    """Return the table of a model's vectors, and its foreign key to the model's rows."""
    relation = semantic.vectors_of(model)
    table = quote_table(relation.related_model)
    return table, f'{table}."{relation.field.column}"'


def _index_name(model: type[Model], vector: Vector, project_id: uuid.UUID) -> str:
    vectors = semantic.vectors_of(model).related_model
    return vector_index.index_name(vectors, project_id, vector.model)


def describe_scan(
    probe: ProbeStats,
    model: type[Model],
    vector: Vector,
    project_id: uuid.UUID,
) -> dict[str, Any]:
    """Describe the semantic lane for `explain`: index or exact scan, and why."""
    if not (probe.is_enough or probe.nearest):
        return {"how": "exact", "why": "the filters keep few rows"}
    if not probe.is_enough:
        nearest = f"the project's {probe.nearest} nearest rows"
        return {"how": "exact", "why": f"{probe.matches} of {nearest} pass the filters"}
    index = _index_name(model, vector, project_id)
    # If a probe is enough but has fewer rows than requested, it has read all rows.
    has_all = probe.nearest < semantic.NEAREST
    if not has_all and index in _explain_nearest(
        model, vector, project_id, probe.nearest
    ):
        why = "the project has an index of its own"
        ef_search = semantic.ef_search(probe.nearest)
        return {"how": "index", "why": why, "ef_search": ef_search}
    min_rows = vector_index.MIN_ROWS
    return {
        "how": "exact",
        "why": f"no index: fewer than {min_rows} rows, or not built",
    }


def _explain_nearest(
    model: type[Model], vector: Vector, project_id: uuid.UUID, rows: int
) -> str:
    query_vector, literal = _query_vector(vector)
    nearest, params = _nearest_vectors(model, vector, project_id, rows, iterative=False)
    with connections[model._base_manager.db].cursor() as cursor:
        cursor.execute(
            f"EXPLAIN WITH meaning AS MATERIALIZED ({query_vector}) {nearest}",
            [*literal, *params],
        )
        return "\n".join(line for (line,) in cursor.fetchall())
