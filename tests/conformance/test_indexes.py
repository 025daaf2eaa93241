from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection

pytestmark = pytest.mark.django_db

# Indexes of all rows whose columns are the first ones of another.
NEEDLESS = """
SELECT shorter.indexrelid::regclass::text, longer.indexrelid::regclass::text
FROM pg_index AS shorter
JOIN pg_index AS longer USING (indrelid)
JOIN pg_class AS one ON one.oid = shorter.indexrelid
JOIN pg_class AS other ON other.oid = longer.indexrelid AND other.relam = one.relam
WHERE indrelid = %s::regclass AND shorter.indexrelid <> longer.indexrelid
  AND NOT shorter.indisunique AND shorter.indexprs IS NULL
  AND shorter.indpred IS NULL AND longer.indpred IS NULL
  AND (longer.indkey::text || ' ') LIKE (shorter.indkey::text || ' %%')
  AND (longer.indclass::text || ' ') LIKE (shorter.indclass::text || ' %%')
"""
OURS = [
    model
    for model in apps.get_models()
    if not model.__module__.startswith(("django.", "axes."))
]


@pytest.mark.parametrize("model", OURS, ids=lambda model: model._meta.label)
def test_no_index_of_a_table_repeats_the_beginning_of_another(model):
    with connection.cursor() as cursor:
        cursor.execute(NEEDLESS, [model._meta.db_table])
        assert cursor.fetchall() == []
