from __future__ import annotations

import importlib
import uuid

import pytest
from django.apps import apps
from django.db import connection

from access import keys
from access.models import ApiKey
from common.caller import Role

pytestmark = pytest.mark.django_db


def test_an_upgrade_gives_each_key_the_first_key_of_its_rotations():
    first, other = (keys.issue(name="k", role=Role.WRITER).key for _ in range(2))
    second = keys.rotate(first).key
    third = keys.rotate(second).key
    ApiKey.objects.update(line_id=uuid.uuid4())
    migration = importlib.import_module("access.migrations.0003_lines_of_keys")
    with connection.schema_editor() as editor:
        migration.fill(apps, editor)

    lines = dict(ApiKey.objects.values_list("pk", "line_id"))
    assert lines == {
        first.pk: first.pk,
        second.pk: first.pk,
        third.pk: first.pk,
        other.pk: other.pk,
    }
