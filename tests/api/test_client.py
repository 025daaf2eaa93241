"""The client's calls are those of the schema, and both say their version."""

from __future__ import annotations

from pathlib import Path

import generate
import pytest
from agent_memory import Client
from agent_memory.version import HEADER, VERSION, describe_gap
from django.conf import settings
from rest_framework.test import APIClient

pytestmark = pytest.mark.django_db
FOLDER = Path(settings.BASE_DIR) / "client"


@pytest.fixture(scope="module")
def schema():
    return APIClient().get("/api/schema").json()


def test_the_calls_of_the_client_are_those_of_the_schema(schema):
    written = {
        name: (FOLDER / "agent_memory" / name).read_text()
        for name in ("methods.py", "shapes.py", "calls.py")
    }

    assert generate.render(schema) == written


def test_each_operation_is_a_method_of_the_client(schema):
    operations = {
        operation["operationId"]
        for path, methods in schema["paths"].items()
        for operation in methods.values()
        if path.startswith("/api/v1/")
    }

    assert operations <= set(dir(Client))


def test_the_versions_of_client_and_service_fit():
    assert describe_gap(settings.VERSION, VERSION) == ""


def test_who_names_a_version_is_told_that_of_the_service():
    answer = APIClient().get("/healthz", headers={HEADER: VERSION})

    assert answer[HEADER] == settings.VERSION


def test_nobody_else_is_told_the_version():
    assert HEADER not in APIClient().get("/healthz")
