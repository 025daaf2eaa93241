"""The lanes of a search, a statement each: candidates, and what both think of them.

The keyword lane goes first, while the model still makes the vector that the other needs.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import connections
from django.db.models import Model

from inference.vectors import Vector
from search import postings, semantic, vector_indexes
from search import query as queries
from search.filtered import Filtered, Part, quoted
from search.postings import Sought
from search.query import Term

# So many times CANDIDATE_ROWS are asked, one after the other, until enough pass.
ATTEMPTS = (1, 10, math.inf)


@dataclass(frozen=True)
class Asked:
    """What the lanes look for, and among which rows; None: the filters leave nothing.

    `arms` are the lexemes of the project's rows and of what is shared with it, `held`
    those that every row holds.
    """

    rows: Filtered | None
    project_id: uuid.UUID
    arms: Sequence[str]
    terms: Sequence[Term] = ()
    held: Sequence[str] = ()
    # Where the filters leave fewer than so many of the rows first looked at, others are.
    enough: int = semantic.DEPTH


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
    # What the keyword lane asked for, at last.
    sought: Sought | None = None


def by_words(asked: Asked) -> Found:
    """BM25 of the best candidate rows: `postings.candidates`.

    When the filters leave few of these, more are asked, and then all rows that hold any
    of the lexemes.
    """
    if asked.rows is None or not asked.terms:
        return Found()
    for times in ATTEMPTS:
        most = times * postings.CANDIDATE_ROWS
        sought = postings.candidates(asked.terms, asked.arms, asked.held, most)
        found = _best(asked, asked.rows, sought, is_last=most == math.inf)
        if len(found) >= asked.enough or sought.is_all:
            break
    return Found(found, by_words=len(found), sought=sought)


def _best(
    asked: Asked, rows: Filtered, sought: Sought, *, is_last: bool
) -> list[Candidate]:
    table = rows.table
    # OFFSET 0: the arm confines the index to the project already; beside it the planner
    # would read all rows of a large project from another index. At last the filters may
    # be the narrower ones.
    fence = "" if is_last else "OFFSET 0"
    condition, params = rows.condition
    sql = f"""
    WITH question AS MATERIALIZED ({QUESTION})
    SELECT id, {RELEVANCE} AS relevance
    FROM (
        SELECT * FROM {table} WHERE {HOLDS} {fence}
    ) AS {table} WHERE {condition}
    ORDER BY 2 DESC, 1 DESC LIMIT {semantic.DEPTH}"""
    with connections[rows.using].cursor() as cursor:
        cursor.execute(sql, [queries.weights(asked.terms), sought.tsquery, *params])
        return [Candidate(pk, value, None) for pk, value in cursor.fetchall()]


def by_meaning(asked: Asked, vector: Vector, words: Found) -> Found:
    """The nearest rows beside those found by words, and each scored in both lanes.

    Most often enough of the project's NEAREST vectors pass the filters, which are then
    asked of those alone. Else the filters leave few rows, and these are scanned: an
    index would go through most of the project for them, and lose some.
    """
    if asked.rows is None:
        return words
    parts = [
        ("question", (QUESTION, [queries.weights(asked.terms)])),
        ("keyword", _known(words.candidates)),
        *_semantic(asked.rows, asked, vector),
        ("scored", _scored(asked.rows, asked, vector)),
    ]
    named = ", ".join(f"{name} AS MATERIALIZED ({sql})" for name, (sql, _) in parts)
    params = [value for _, (_, values) in parts for value in values]
    with connections[asked.rows.using].cursor() as cursor:
        cursor.execute(f"WITH {named} {ANSWER}", params)
        *columns, near, passed = cursor.fetchone()
    candidates = map(Candidate, *(column or () for column in columns))
    return replace(words, candidates=list(candidates), by_meaning=near, passed=passed)


QUESTION = "SELECT %s::sparsevec AS weights"
RELEVANCE = "-(content_terms <#> (SELECT weights FROM question))"
DISTANCE = "embedding <=> (SELECT vector FROM meaning)"
ANSWER = """
SELECT array_agg(id), array_agg(relevance), array_agg(cosine),
       (SELECT count(*) FROM semantic), (SELECT count(*) FROM passed)
FROM scored"""
HOLDS = "within_arms(content_tsv) @@ %s::tsquery"


def _known(candidates: Sequence[Candidate]) -> Part:
    """What the keyword lane has found already, as a table."""
    ids = [each.id for each in candidates]
    relevances = [each.keyword for each in candidates]
    sql = "SELECT * FROM unnest(%s::uuid[], %s::float8[]) AS known (id, relevance)"
    return sql, [ids, relevances]


def _semantic(rows: Filtered, asked: Asked, vector: Vector) -> list[tuple[str, Part]]:
    table = rows.table
    condition, params = rows.condition
    few = f"(SELECT count(*) FROM passed) < {asked.enough}"
    nearest, given = _nearest(rows.model, vector, asked.project_id)
    # In the order of the rows within: what is not needed for DEPTH is not looked up.
    passed = f"""
    SELECT nearest.id, distance FROM ({nearest}) AS nearest
    JOIN {table} ON {table}.id = nearest.id
    WHERE {condition} ORDER BY distance, nearest.id DESC LIMIT {semantic.DEPTH}"""
    found = [
        ("meaning", _meaning(vector)),
        ("passed", (passed, [*given, *params])),
        ("exact", _scanned(rows, _held(asked, rows.condition), vector, few)),
    ]
    lanes = ["SELECT * FROM exact", f"SELECT * FROM passed WHERE NOT {few}"]
    if shared := asked.arms[1:]:
        elsewhere = f"{condition} AND {table}.project_id <> %s"
        elsewhere += f" AND {HOLDS}"
        arms = " | ".join(f"'{arm}'" for arm in shared)
        given = [*params, asked.project_id, arms]
        scanned = _scanned(rows, (elsewhere, given), vector, f"NOT {few}")
        found.append(("shared", scanned))
        lanes.append("SELECT * FROM shared")
    sql = f"""
    SELECT * FROM ({" UNION ALL ".join(lanes)}) AS found
    ORDER BY distance, id DESC LIMIT {semantic.DEPTH}"""
    return [*found, ("semantic", (sql, []))]


def _held(asked: Asked, condition: Part) -> Part:
    """The rows of a condition, found by the lexemes that all of them hold."""
    if not asked.held:
        return condition
    sql, params = condition
    return f"{sql} AND {HOLDS}", [*params, postings.within(asked.arms, [], asked.held)]


def _meaning(vector: Vector) -> Part:
    return "SELECT %s::halfvec AS vector", [vector.text]


def _nearest(model: type[Model], vector: Vector, project_id: uuid.UUID) -> Part:
    vectors, owner = _vectors(model)
    # Only an order by the very expression of `vector_indexes` can use an index.
    width = f"halfvec({len(vector)})"
    distance = f"embedding::{width} <=> (SELECT vector::{width} FROM meaning)"
    sql = f"""
    SELECT {owner} AS id, {distance} AS distance FROM {vectors}
    WHERE {semantic.searched(semantic.EF_SEARCH)} AND project_id = %s AND model = %s
    ORDER BY {distance}, {owner} DESC LIMIT {semantic.NEAREST}"""
    return sql, [project_id, vector.model]


def _scanned(rows: Filtered, where: Part, vector: Vector, choice: str) -> Part:
    """The nearest of all rows that pass, if the choice falls on looking at each."""
    vectors, owner = _vectors(rows.model)
    table = rows.table
    condition, params = where
    sql = f"""
    SELECT {owner} AS id, {DISTANCE} AS distance FROM {vectors}
    WHERE {choice} AND model = %s AND EXISTS (
        SELECT FROM {table} WHERE {condition}
        AND {table}.id = {owner} AND {table}.project_id = {vectors}.project_id)
    ORDER BY distance, id DESC LIMIT {semantic.DEPTH}"""
    return sql, [vector.model, *params]


def _scored(rows: Filtered, asked: Asked, vector: Vector) -> Part:
    """Each candidate in both lanes: what only one lane found is looked up for the other."""
    vectors, owner = _vectors(rows.model)
    words = f"(SELECT {RELEVANCE} FROM {rows.table} WHERE {rows.table}.id = found.id)"
    meaning = (
        f"SELECT {DISTANCE} FROM {vectors} WHERE {owner} = found.id AND model = %s"
    )
    sql = f"""
    SELECT found.id, coalesce(relevance, {words if asked.terms else 0}, 0) AS relevance,
           1 - coalesce(distance, ({meaning})) AS cosine
    FROM (SELECT id FROM keyword UNION SELECT id FROM semantic) AS found
    LEFT JOIN keyword USING (id) LEFT JOIN semantic USING (id)"""
    return sql, [vector.model]


def _vectors(model: type[Model]) -> tuple[str, str]:
    """The table of a model's vectors, and its column of the model's rows."""
    relation = semantic.vectors_of(model)
    table = quoted(relation.related_model)
    return table, f'{table}."{relation.field.column}"'


def how(
    passed: int,
    model: type[Model],
    vector: Vector,
    project_id: uuid.UUID,
    enough: int,
) -> dict[str, Any]:
    """What `explain` says of the semantic lane: index or exact, and why.

    `passed` is how many of the project's nearest rows passed the filters.
    """
    if passed < enough:
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
