from __future__ import annotations

import json
import re
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from rest_framework.test import APIClient

from common.caller import Role
from tests.isolation.route_table import TABLE, send
from tests.isolation.world import undone

pytestmark = pytest.mark.django_db
ELSEWHERE = "203.0.113.9"
# What an operation's id ends in, else in the last word of its path.
VERBS = {
    ("get", "a collection"): {"list", "read"},
    ("get", "a row"): {"list", "read"},
    ("post", "a collection"): {"create", "issue", "make", "start"},
    ("post", "a row"): {"append", "call", "prove", "set"},
    ("put", "a collection"): {"put"},
    ("put", "a row"): {"put"},
    ("patch", "a row"): {"update"},
    ("delete", "a row"): {"delete", "remove", "revoke"},
}


@pytest.fixture(scope="module")
def schema():
    return APIClient().get("/api/schema").json()


def operations(schema):
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def words_of(path):
    return re.findall("[a-z]+", re.sub("{.*?}", "", path))


def test_it_is_valid_and_has_no_warnings():
    call_command(
        "spectacular",
        "--validate",
        "--fail-on-warn",
        "--file=/dev/null",
        stdout=StringIO(),
    )


class TestOperations:
    def test_each_is_described_and_has_an_answer(self, schema):
        for name, operation in operations(schema):
            good = [code for code in operation["responses"] if code.startswith("2")]
            assert good, name
            assert operation.get("summary") or operation.get("description"), name

    def test_each_id_is_words_of_the_paths_and_one_verb(self, schema):
        words = set(words_of(" ".join(schema["paths"])))
        for path, methods in schema["paths"].items():
            for method, operation in methods.items():
                name = operation["operationId"]
                *about, last = name.split("_")
                place = "a row" if "{" in path else "a collection"
                own = words_of(path.rsplit("/", 1)[1])

                assert words.issuperset(about), name
                assert last in own or last in VERBS[method, place], name

    def test_each_documents_its_problems(self, schema):
        for name, operation in operations(schema):
            problem = operation["responses"]["400"]["content"]
            assert "application/problem+json" in problem, name
            assert operation["responses"].keys() >= {"401", "403", "404", "429"}, name

    def test_each_needs_a_key_or_a_session(self, schema):
        for name, operation in operations(schema):
            assert operation["security"] == [{"key": []}, {"session": []}], name

    def test_each_that_takes_an_idempotency_key_documents_it(
        self,
        schema,
        alices,
        client_of,
    ):
        api, taking = client_of(role=Role.OWNER), set()
        api.defaults["HTTP_IDEMPOTENCY_KEY"] = "x" * 256
        for route in TABLE:
            with undone():
                answer = send(api, route, alices)
            if b"invalid_idempotency_key" in answer.content:
                taking.add(re.sub(r"<\w+:(\w+)>", r"{\1}", route.name))

        assert taking == {
            name.replace(" /", " ")
            for name, operation in operations(schema)
            for parameter in operation.get("parameters", ())
            if parameter["name"] == "Idempotency-Key"
        }

    def test_no_address_ends_with_a_slash(self, schema):
        assert not [path for path in schema["paths"] if path.endswith("/")]


def test_no_text_cites_a_requirement(schema):
    assert not re.findall(r"REQ-[\w-]+|requirement \d+|\(0\d+,", json.dumps(schema))


@pytest.mark.parametrize("path", ["/api/schema", "/api/docs"])
class TestWhoMayRead:
    def test_this_machine(self, path):
        assert APIClient().get(path).status_code == 200

    def test_nobody_from_elsewhere(self, path):
        answer = APIClient(REMOTE_ADDR=ELSEWHERE).get(path)

        assert answer.status_code == 401
        assert answer.headers["Content-Type"] == "application/problem+json"

    def test_nobody_that_a_proxy_passes_on(self, path):
        answer = APIClient(headers={"x-forwarded-for": ELSEWHERE}).get(path)

        assert answer.status_code == 401

    def test_a_viewer(self, path, client_of, project):
        viewer = client_of(project, role=Role.VIEWER)

        assert viewer.get(path, REMOTE_ADDR=ELSEWHERE).status_code == 200

    def test_a_person(self, path):
        client = APIClient(REMOTE_ADDR=ELSEWHERE)
        client.force_login(get_user_model().objects.create_user("ann"))

        assert client.get(path).status_code == 200


def test_the_pages_need_nothing_from_elsewhere():
    page = APIClient().get("/api/docs")

    assert b"//cdn" not in page.content
    assert b"https://" not in page.content
    assert b"<script>" not in page.content
    assert "unsafe-inline" in page.headers["Content-Security-Policy"]


def test_the_root_leads_to_the_admin():
    assert APIClient().get("/").headers["Location"] == "/admin/"


def test_a_delete_without_a_body_has_no_problem_of_a_body(schema):
    for name, operation in operations(schema):
        if "requestBody" not in operation:
            assert not {"413", "415", "422"} & set(operation["responses"]), name


def test_each_kind_of_scope_has_its_fields(schema):
    schemas = schema["components"]["schemas"]
    places = schemas["ScopeRequest"]["discriminator"]["mapping"]

    told = {
        kind: set(schemas[place.rpartition("/")[2]]["properties"]) - {"kind"}
        for kind, place in places.items()
    }

    assert told == {
        "workspace": {"workspace_id"},
        "user": {"user_id"},
        "session": {"session_id", "user_id"},
        "org": {"org_id"},
        "object": {"object_type", "object_id"},
    }


def test_a_memory_shows_its_scope_as_a_request_names_it(schema):
    schemas = schema["components"]["schemas"]
    [shown] = schemas["MemoryOut"]["properties"]["scope"]["allOf"]

    assert shown == {"$ref": "#/components/schemas/Scope"}
    assert schemas["Scope"] == schemas["ScopeRequest"]


def choices_of(schemas, shape):
    """The values that a shape allows; None if it allows any."""
    if "$ref" in shape:
        return choices_of(schemas, schemas[shape["$ref"].rpartition("/")[2]])
    if "enum" in shape:
        return shape["enum"]
    parts = [part for name in ("allOf", "oneOf") for part in shape.get(name, ())]
    found = [choices_of(schemas, part) for part in parts]
    known = [choices for choices in found if choices is not None]
    return [value for choices in known for value in choices] if known else None


def shapes_with_a_default(value):
    if isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        if "default" in value:
            yield value
        for part in value.values():
            yield from shapes_with_a_default(part)


def test_no_default_is_outside_of_its_choices(schema):
    schemas, checked = schema["components"]["schemas"], 0
    for shape in shapes_with_a_default(schema):
        choices = choices_of(schemas, shape)
        if choices is not None:
            checked += 1
            assert shape["default"] in choices, shape
    assert checked > 20


@pytest.mark.parametrize(
    ("component", "field"),
    [
        ("CreateMemoryRequest", "source"),
        ("CreateMemoryRequest", "metadata"),
        ("CreateMemoryRequest", "memory_type"),
        ("SearchRequestRequest", "include_duplicates"),
        ("MemoryOut", "scope"),
        ("MemoryOut", "source"),
        ("MemoryOut", "metadata"),
        ("MemoryOut", "provenance"),
    ],
)
def test_a_field_that_its_name_does_not_explain_is_described(schema, component, field):
    shape = schema["components"]["schemas"][component]
    assert shape["properties"][field]["description"]
    assert component.endswith("Out") or field not in shape["required"]


def test_the_parameters_that_a_description_names_exist(schema):
    parameters = schema["paths"]["/api/v1/memories"]["get"]["parameters"]
    [narrower] = [p for p in parameters if p["name"] == "include_narrower"]
    named = set(re.findall(r"`(\w+)", narrower["description"]))

    assert named == {"scope", "session_id"}
    assert named <= {parameter["name"] for parameter in parameters}


class TestSessions:
    """Every field and parameter of the routes of sessions says what it is."""

    # Components of memories, whose fields docs/api.md describes.
    ELSEWHERE = {"MemoryOut", "FileLink", "Problem"}

    def paths(self, schema):
        places = ("/sessions", "/summaries", "/agent-memory", "/users/")
        places += ("/facts", "/episodes", "/conversations")
        return {
            path: methods
            for path, methods in schema["paths"].items()
            if path.removeprefix("/api/v1").startswith(places)
        }

    def components(self, schema, value, seen):
        if isinstance(value, list):
            for each in value:
                self.components(schema, each, seen)
        if not isinstance(value, dict):
            return
        name = str(value.get("$ref", "")).rpartition("/")[2]
        if name and name not in seen:
            seen.add(name)
            self.components(schema, schema["components"]["schemas"][name], seen)
        for each in value.values():
            self.components(schema, each, seen)

    def test_every_field_has_a_description(self, schema):
        seen: set[str] = set()
        self.components(schema, self.paths(schema), seen)
        shapes = schema["components"]["schemas"]

        missing = [
            f"{name}.{field}"
            for name in sorted(seen - self.ELSEWHERE)
            for field, shape in shapes[name].get("properties", {}).items()
            if not shape.get("description")
        ]

        assert len(seen) > 40
        assert missing == []

    def test_every_parameter_has_a_description(self, schema):
        missing = [
            f"{method} {path} {parameter['name']}"
            for path, methods in self.paths(schema).items()
            for method, operation in methods.items()
            for parameter in operation.get("parameters", [])
            if not parameter.get("description")
        ]

        assert missing == []

    def test_every_body_has_an_example(self, schema):
        missing = [
            f"{method} {path}"
            for path, methods in self.paths(schema).items()
            for method, operation in methods.items()
            if "requestBody" in operation
            and not any(
                content.get("examples")
                for content in operation["requestBody"]["content"].values()
            )
        ]

        assert missing == []
