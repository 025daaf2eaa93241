from __future__ import annotations

import pytest
from django.db import InternalError, connection, transaction
from django.db.utils import DatabaseError, IntegrityError

from playbook.models import PlaybookChange


@pytest.fixture
def change(write):
    write()
    return PlaybookChange.objects.get()


class TestAppendOnly:
    def test_it_refuses_to_change_a_change(self, change):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            PlaybookChange.objects.filter(pk=change.pk).update(reason="another")

    def test_it_refuses_to_delete_a_change(self, change):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change.delete()

    @pytest.mark.parametrize(
        "statement",
        [
            "DELETE FROM playbook_playbookchange",
            "UPDATE playbook_playbookchange SET reason = 'another'",
        ],
    )
    def test_it_refuses_raw_sql_as_well(self, change, statement):
        with (
            pytest.raises((InternalError, IntegrityError), match="append-only"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
