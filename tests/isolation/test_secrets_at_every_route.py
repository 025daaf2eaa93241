"""No route stores a secret, whatever field of its body or query has it."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from drf_spectacular.generators import SchemaGenerator

from common.caller import Role
from tests.isolation.route_table import TABLE, Route, send
from tests.isolation.world import remember

pytestmark = pytest.mark.django_db
# Joined at run time, so that no scanner takes this file for a leak.
TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eFxQ2w"
WRITES = ("POST", "PUT", "PATCH", "DELETE")


def stored_in(raw):
    """Return the tables that have the text in any column."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
        )
        tables = [name for (name,) in cursor.fetchall()]
        found = []
        for table in tables:
            cursor.execute(
                f'SELECT count(*) FROM "{table}" AS row WHERE row::text LIKE %s',
                [f"%{raw}%"],
            )
            if cursor.fetchone()[0]:
                found.append(table)
    return found


def free_texts(schema, route: Route):
    """Return the names of the fields and parameters of a route that take any text."""
    path = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route.route)
    operation = schema["paths"].get(path, {}).get(route.method.lower(), {})
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "query" and is_free(parameter["schema"]):
            yield "query", parameter["name"], TOKEN
    content = operation.get("requestBody", {}).get("content", {})
    body = resolve(schema, content.get("application/json", {}).get("schema", {}))
    for name, field in body.get("properties", {}).items():
        field = resolve(schema, field)
        if is_free(field):
            yield "body", name, TOKEN
        elif field.get("type") == "array" and is_free(resolve(schema, field["items"])):
            yield "body", name, [TOKEN]
        elif field.get("type") == "object" and "properties" not in field:
            yield "body", name, {"note": TOKEN, "password": TOKEN[4:12]}


def resolve(schema, part):
    while "$ref" in part or "allOf" in part:
        if "allOf" in part:
            part = part["allOf"][0]
        if "$ref" in part:
            part = schema["components"]["schemas"][part["$ref"].rpartition("/")[2]]
    return part


def is_free(field):
    return (
        field.get("type") == "string" and "enum" not in field and "format" not in field
    )


class TestEveryRoute:
    def test_none_stores_a_secret_of_its_body_or_query(self, alices, client_of):
        alice = client_of(alices.project, role=Role.OWNER)
        schema = SchemaGenerator().get_schema(request=None, public=True)
        asked = 0
        for route in TABLE:
            for place, name, value in free_texts(schema, route):
                if name in ("project_id", "project", "organization", "username"):
                    continue
                body, query = dict(route.body(alices)), dict(route.query(alices))
                (body if place == "body" else query)[name] = value
                changed = Route(
                    route.method,
                    route.route,
                    route.path,
                    body=lambda _, body=body: body,
                    query=lambda _, query=query: query,
                )

                assert send(alice, changed, alices).status_code < 500, (route, name)
                asked += 1

        assert asked > 60
        assert stored_in(TOKEN) == []

    def test_a_memory_keeps_no_secret_in_any_field(self, alice_api, project):
        remember(alice_api, project, f"The token is {TOKEN}.", TOKEN, key=TOKEN)

        assert stored_in(TOKEN) == []

    def test_two_scopes_with_secrets_stay_two(self, alice_api, project):
        body = {"project_id": str(project.pk), "memory_type": "learning"}
        for end in ("1", "2"):
            scope = {"kind": "user", "user_id": TOKEN[:-1] + end}
            text = f"The harbour opens at {end} in the night."
            answer = alice_api.post(
                "/api/v1/memories", body | {"content": text, "scope": scope}
            )
            assert answer.status_code == 201

        found = alice_api.post(
            "/api/v1/search",
            {
                "project_id": str(project.pk),
                "query": "harbour opens",
                "scope": {"kind": "user", "user_id": TOKEN[:-1] + "1"},
            },
        ).json()

        assert "at 1 in" in str(found)
        assert "at 2 in" not in str(found)
