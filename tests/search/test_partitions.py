"""The index knows each lexeme within the arms of its row."""

from __future__ import annotations

import uuid

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.scopes import Scope
from projects.models import Project
from search import postings
from search.columns import lexeme_in_partition, partition_lexeme

pytestmark = pytest.mark.django_db
LEXEMES = st.lists(
    st.text(
        st.characters(exclude_characters="\0", exclude_categories=("Cs",)),
        min_size=1,
        max_size=40,
    ),
    max_size=8,
)


def within_arms(lexemes):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tsvector_to_array(within_arms(array_to_tsvector(%s::text[])))",
            [list(lexemes)],
        )
        return set(cursor.fetchone()[0])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(LEXEMES)
def test_sql_and_python_write_the_same(lexemes):
    arms = [
        partition_lexeme("p", uuid.UUID(int=5)),
        partition_lexeme("o", uuid.UUID(int=6)),
    ]

    assert within_arms([*arms, *lexemes]) == {
        *arms,
        *(lexeme_in_partition(arm, lexeme) for arm in arms for lexeme in lexemes),
    }


def test_a_row_without_an_arm_is_in_no_index():
    assert within_arms(["apple", "↑apple"]) == set()


@pytest.fixture
def shared(remember, organization):
    """A memory of another project that the organization shares."""
    neighbour = Project.objects.create(organization=organization, name="beta")
    scope = Scope("org", str(organization.pk))
    return remember("the cold cache is warmed at night", where=neighbour, scope=scope)


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
@pytest.mark.parametrize("most", [1, postings.CANDIDATE_ROWS])
def test_a_phrase_is_found_in_what_the_organization_shares(
    shared, remember, search, mode, most, monkeypatch
):
    remember("a cache that is cold")
    monkeypatch.setattr(postings, "CANDIDATE_ROWS", most)

    hits = search('"cold cache" warmed', mode=mode, syntax="operators")

    assert [hit.memory.pk for hit in hits] == [shared.pk]
