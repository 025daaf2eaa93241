"""Both lanes of a search as one statement: candidates, and what each lane thinks of them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from django.db import connections
from django.db.models import Model, QuerySet

from inference.vectors import Vector
from search import query as queries
from search import semantic, vector_indexes
from search.filtered import Filtered, Part
from search.query import Term


@dataclass(frozen=True)
class Asked:
    """What the lanes look for; without terms, or without a vector, one is not asked.

    `arms` are the lexemes of the project's rows and of what is shared with it.
    """

    project_id: uuid.UUID
    arms: Sequence[str]
    terms: Sequence[Term] = ()
    vector: Vector | None = None


@dataclass(frozen=True)
class Candidate:
    """A row that a lane found, scored in both; no cosine without a vector."""

    id: uuid.UUID
    keyword: float
    cosine: float | None


@dataclass(frozen=True)
class Found:
    candidates: list[Candidate] = field(default_factory=list)
    # How many rows each lane found, and of the NEAREST rows how many pass the filters.
    by_words: int = 0
    by_meaning: int = 0
    passed: int = 0
    # What the rows were filtered by; None when the filters leave nothing.
    rows: Filtered | None = None


def ask(rows: QuerySet[Any], asked: Asked) -> Found:
    """Ask both lanes for their best rows, and score each row in both.

    `rows` hold every filter; it must be a queryset of one table.
    """
    filtered = Filtered.of(rows)
    if filtered is None:
        return Found()
    table, where = filtered.table, filtered.condition
    parts: list[tuple[str, Part]] = []
    lanes = []
    if asked.terms:
        parts += _keyword(table, where, asked)
        lanes.append("SELECT id FROM keyword")
    if asked.vector is not None:
        parts += _semantic(rows.model, table, where, asked)
        lanes.append("SELECT id FROM semantic")
    if not lanes:
        return Found()
    parts.append(("scored", _scored(rows.model, table, " UNION ".join(lanes), asked)))
    named = ", ".join(f"{name} AS MATERIALIZED ({sql})" for name, (sql, _) in parts)
    params = [value for _, (_, values) in parts for value in values]
    with connections[rows.db].cursor() as cursor:
        cursor.execute(f"WITH {named} {_answer(asked)}", params)
        ids, relevances, cosines, words, near, passed = cursor.fetchone()
    candidates = map(Candidate, ids or (), relevances or (), cosines or ())
    return Found(list(candidates), words, near, passed, filtered)


def _keyword(table: str, where: Part, asked: Asked) -> list[tuple[str, Part]]:
    """BM25 of the best rows that hold any of the rarest lexemes."""
    condition, params = where
    # OFFSET 0: the lexeme of the arm confines the index to the project already; beside
    # it the planner would read all rows of a large project from another index.
    sql = f"""
    SELECT id, -(content_terms <#> (SELECT weights FROM question)) AS relevance
    FROM (
        SELECT * FROM {table}
        WHERE tsvector_is_read(content_tsv) AND content_tsv @@ %s::tsquery OFFSET 0
    ) AS {table} WHERE {condition}
    ORDER BY 2 DESC, 1 DESC LIMIT {semantic.DEPTH}"""
    holding = queries.candidates(asked.terms, asked.arms)
    return [
        (
            "question",
            ("SELECT %s::sparsevec AS weights", [queries.weights(asked.terms)]),
        ),
        ("keyword", (sql, [holding, *params])),
    ]


def _semantic(
    model: type[Model], table: str, where: Part, asked: Asked
) -> list[tuple[str, Part]]:
    """The nearest rows: the project's, and what is shared with it.

    Most often enough of the project's NEAREST vectors pass the filters, which are then
    asked of those alone. Else the filters leave few rows, and these are scanned: an
    index would go through most of the project for them, and lose some.
    """
    assert asked.vector is not None
    condition, params = where
    few = f"(SELECT count(*) FROM passed) < {semantic.DEPTH}"
    passed = f"""
    SELECT nearest.id, distance FROM nearest JOIN {table} ON {table}.id = nearest.id
    WHERE {condition} ORDER BY distance, nearest.id DESC LIMIT {semantic.DEPTH}"""
    found = [
        ("meaning", _meaning(asked.vector)),
        ("nearest", _nearest(model, asked.vector, asked.project_id)),
        ("passed", (passed, params)),
        ("exact", _scanned(model, table, where, asked.vector, few)),
    ]
    lanes = ["SELECT * FROM exact", f"SELECT * FROM passed WHERE NOT {few}"]
    if shared := asked.arms[1:]:
        elsewhere = f"{condition} AND {table}.project_id <> %s"
        elsewhere += " AND content_tsv @@ %s::tsquery"
        given = [*params, asked.project_id, queries.any_of(shared)]
        scanned = _scanned(model, table, (elsewhere, given), asked.vector, f"NOT {few}")
        found.append(("shared", scanned))
        lanes.append("SELECT * FROM shared")
    sql = f"""
    SELECT * FROM ({" UNION ALL ".join(lanes)}) AS found
    ORDER BY distance, id DESC LIMIT {semantic.DEPTH}"""
    return [*found, ("semantic", (sql, []))]


def _meaning(vector: Vector) -> Part:
    return "SELECT %s::halfvec AS vector", [str(list(vector))]


def _nearest(model: type[Model], vector: Vector, project_id: uuid.UUID) -> Part:
    vectors, owner = _vectors(model)
    # Only an order by the very expression of `vector_indexes` can use an index.
    width = f"halfvec({len(vector)})"
    sql = f"""
    SELECT {owner} AS id, {DISTANCE} AS distance FROM {vectors}
    WHERE {semantic.searched(semantic.EF_SEARCH)} AND project_id = %s AND model = %s
    ORDER BY embedding::{width} <=> (SELECT vector::{width} FROM meaning),
        {owner} DESC LIMIT {semantic.NEAREST}"""
    return sql, [project_id, vector.model]


def _scanned(
    model: type[Model], table: str, where: Part, vector: Vector, choice: str
) -> Part:
    """The nearest of all rows that pass, if the choice falls on looking at each."""
    vectors, owner = _vectors(model)
    condition, params = where
    sql = f"""
    SELECT {owner} AS id, {DISTANCE} AS distance FROM {vectors}
    WHERE {choice} AND model = %s AND EXISTS (
        SELECT FROM {table} WHERE {condition}
        AND {table}.id = {owner} AND {table}.project_id = {vectors}.project_id)
    ORDER BY distance, id DESC LIMIT {semantic.DEPTH}"""
    return sql, [vector.model, *params]


DISTANCE = "embedding <=> (SELECT vector FROM meaning)"


def _scored(model: type[Model], table: str, lanes: str, asked: Asked) -> Part:
    """Each candidate in both lanes: what only one lane found is scored in the other."""
    joins, params = "", []
    relevance, cosine = "0::float8", "NULL::float8"
    if asked.terms:
        again = f"-({table}.content_terms <#> (SELECT weights FROM question))"
        relevance = f"coalesce(keyword.relevance, {again}, 0)"
        joins += f" JOIN {table} USING (id) LEFT JOIN keyword USING (id)"
    if asked.vector is not None:
        vectors, owner = _vectors(model)
        cosine = f"1 - coalesce(semantic.distance, {DISTANCE})"
        joins += f" LEFT JOIN semantic USING (id) LEFT JOIN {vectors}"
        joins += f" ON {owner} = found.id AND {vectors}.model = %s"
        params = [asked.vector.model]
    sql = f"""
    SELECT found.id, {relevance} AS relevance, {cosine} AS cosine
    FROM ({lanes}) AS found{joins}"""
    return sql, params


def _answer(asked: Asked) -> str:
    counted = {"keyword": asked.terms, "semantic": asked.vector, "passed": asked.vector}
    counts = (
        f"(SELECT count(*) FROM {name})" if is_there else "0"
        for name, is_there in counted.items()
    )
    columns = "array_agg(id), array_agg(relevance), array_agg(cosine)"
    return f"SELECT {columns}, {', '.join(counts)} FROM scored"


def _vectors(model: type[Model]) -> tuple[str, str]:
    """The table of a model's vectors, and its column of the model's rows."""
    relation = semantic.vectors_of(model)
    table = cast(str, relation.related_model._meta.db_table)
    return f'"{table}"', f'"{table}"."{relation.field.column}"'


def how(
    passed: int, model: type[Model], vector: Vector, project_id: uuid.UUID
) -> dict[str, Any]:
    """What `explain` says of the semantic lane: index or exact, and why.

    `passed` is how many of the project's nearest rows passed the filters.
    """
    if passed < semantic.DEPTH:
        nearest = f"the project's {semantic.NEAREST} nearest rows"
        return {"how": "exact", "why": f"{passed} of {nearest} pass the filters"}
    vectors = semantic.vectors_of(model).related_model
    index = vector_indexes.name(vectors, project_id, vector.model)
    if index in _plan_of_nearest(model, vector, project_id):
        why = "the project has an index of its own"
        return {"how": "index", "why": why, "ef_search": semantic.EF_SEARCH}
    least = vector_indexes.FROM_ROWS
    return {"how": "exact", "why": f"no index: fewer than {least} rows, or not built"}


def _plan_of_nearest(model: type[Model], vector: Vector, project_id: uuid.UUID) -> str:
    meaning, literal = _meaning(vector)
    nearest, params = _nearest(model, vector, project_id)
    with connections[model._base_manager.db].cursor() as cursor:
        cursor.execute(
            f"EXPLAIN WITH meaning AS MATERIALIZED ({meaning}) {nearest}",
            [*literal, *params],
        )
        return "\n".join(line for (line,) in cursor.fetchall())
