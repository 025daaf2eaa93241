from __future__ import annotations

import importlib
import uuid

import pytest
from django.apps import apps
from django.db import connection

from access import authentication, keys
from access.models import ApiKey
from common.caller import Role

pytestmark = pytest.mark.django_db


def test_an_upgrade_gives_each_key_the_line_of_its_first_issuer(rf):
    def issued_by(key):
        key.project_ids = []
        caller = authentication.caller_for_key(key, rf.get("/"))
        return keys.issue(name="k", role=Role.OWNER, caller=caller).key

    first, other = (keys.issue(name="k", role=Role.OWNER).key for _ in range(2))
    second = issued_by(first)
    rotated = keys.rotate(second).key
    third = issued_by(rotated)
    ApiKey.objects.update(root_line_id=uuid.uuid4())
    migration = importlib.import_module("access.migrations.0005_root_lines_of_keys")
    with connection.cursor() as cursor:
        cursor.execute(migration.FILL_ROOT_LINES)

    roots = dict(ApiKey.objects.values_list("pk", "root_line_id"))
    expected = dict.fromkeys((first.pk, second.pk, rotated.pk, third.pk), first.pk)
    assert roots == expected | {other.pk: other.pk}


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
