"""A field or a query parameter that a route does not know is refused, on every route."""

from __future__ import annotations

import json
import re
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from common.caller import Role
from common.unknown_fields import KnownFields, UnknownFields, find_nearest
from memories.models import Memory
from memory_project import checks
from tests.isolation.route_table import TABLE, read_whole
from tests.isolation.world import rows_of, undone

V1 = "/api/v1"
MEMORIES, TASKS, SEARCH = f"{V1}/memories", f"{V1}/complete-task", f"{V1}/search"
HEADER = "X-Unknown-Fields"


@pytest.fixture
def api(client_of, project):
    return client_of(project, role=Role.OWNER)


@pytest.fixture
def named(project):
    return {"project_id": str(project.pk)}


@pytest.fixture
def memory(named):
    text = "The crane is oiled on Mondays"
    return named | {"content": text, "memory_type": "learning"}


@pytest.fixture
def note_mode(settings):
    settings.UNKNOWN_FIELDS = "note"


def refused(answer):
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (400, "unknown_field"), problem
    return problem


def send_with(client, route, world, *, body=None, query=None):
    """Call a route with more fields in its body, or with more query parameters."""
    sent = route.body(world) | (body or {})
    asked = urlencode(route.query(world) | (query or {}), doseq=True)
    text = json.dumps(sent) if sent else ""
    return read_whole(
        client.generic(
            route.method, f"{route.url(world)}?{asked}", text, "application/json"
        )
    )


def names_nonsense(answer):
    """Whether an answer refuses the field `nonsense`; settings have a path of their own."""
    problem = answer.json() if answer.content[:1] == b"{" else {}
    paths = {path.rpartition(".")[2] for path in problem.get("errors", {})}
    return problem.get("code") == "unknown_field" and "nonsense" in paths


@pytest.mark.django_db
class TestEveryRoute:
    def test_it_refuses_an_unknown_field_and_changes_nothing(self, alices, client_of):
        root, wrong = client_of(role=Role.OWNER), []
        before = rows_of(alices.project)
        for route in (route for route in TABLE if not route.is_raw):
            answer = send_with(root, route, alices, body={"nonsense": 1})
            if not names_nonsense(answer):
                wrong.append(f"{route.name}: {answer.status_code}")

        assert not wrong, "\n".join(wrong)
        assert rows_of(alices.project) == before

    def test_it_refuses_an_unknown_query_parameter(self, alices, client_of):
        root, wrong = client_of(role=Role.OWNER), []
        before = rows_of(alices.project)
        for route in TABLE:
            answer = send_with(root, route, alices, query={"nonsense": "1"})
            if not names_nonsense(answer):
                wrong.append(f"{route.name}: {answer.status_code}")

        assert not wrong, "\n".join(wrong)
        assert rows_of(alices.project) == before

    def test_it_knows_all_that_the_schema_lists(self, alices, client_of):
        root, wrong = client_of(role=Role.OWNER), []
        schema = root.get("/api/schema").json()
        for route in TABLE:
            path = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route.route)
            operation = schema["paths"].get(path, {}).get(route.method.lower(), {})
            fields = dict.fromkeys(body_properties(schema, operation), "x")
            query = {
                each["name"]: "x"
                for each in operation.get("parameters", [])
                if each["in"] == "query"
            }
            with undone():
                answer = send_with(root, route, alices, body=fields, query=query)
            if b'"unknown_field"' in answer.content:
                wrong.append(f"{route.name}: {answer.json()['detail']}")

        assert not wrong, "\n".join(wrong)

    @pytest.mark.slow
    def test_it_goes_through_with_a_note_in_note_mode(
        self,
        alices,
        client_of,
        note_mode,
    ):
        root, wrong = client_of(role=Role.OWNER), []
        for route in TABLE:
            if route.is_raw or route.route.endswith("/settings"):
                continue  # settings were refused before as well
            if route.is_own_persons:
                continue  # the root key finds no such row
            if route.path == ("gone",):
                root.key.projects.add(alices.ids["gone"])
            with undone():
                answer = send_with(
                    root, route, alices, body={"nonsense": 1}, query={"more": "1"}
                )
            found = set(answer.headers.get(HEADER, "").split(", "))
            if answer.status_code >= 400 or not {"nonsense", "more"} <= found:
                wrong.append(f"{route.name}: {answer.status_code} {found}")

        assert not wrong, "\n".join(wrong)


def body_properties(schema, operation):
    content = operation.get("requestBody", {}).get("content", {})
    part = content.get("application/json", {}).get("schema", {})
    return resolved(schema, part).get("properties", {})


def resolved(schema, part):
    name = part.get("$ref", "").rpartition("/")[2]
    return schema["components"]["schemas"][name] if name else part


@pytest.mark.django_db
class TestAnswer:
    def test_it_names_the_nearest_field_and_lists_the_known_ones(self, api, memory):
        content = memory.pop("content")
        problem = refused(api.post(MEMORIES, memory | {"contnt": content}))

        assert problem["errors"]["contnt"] == [
            "Unknown field `contnt`; did you mean `content`?"
        ]
        assert "did you mean `content`?" in problem["detail"]
        assert {"content", "project", "project_id"} <= {
            *problem["known_fields"]["body"]
        }

    def test_it_names_the_other_wrong_fields_too(self, api, memory):
        body = memory | {
            "content": 1,
            "memory_type": "news",
            "confidence": 7,
            "goall": 1,
        }
        problem = refused(api.post(MEMORIES, body | {"content": {}}))

        assert problem["errors"].keys() == {
            "content", "memory_type", "confidence", "goall",
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("path", "body", "place", "nearest"),
        [
            ("memories", {"scope": {"kind": "user", "userid": "u"}}, "scope.userid", "scope.user_id"),
            ("memories", {"files": [{"file_path": "a"}, {"path": "b"}]}, "files.1.path", "files.1.file_path"),
            ("search", {"weights": {"semantics": 1}}, "weights.semantics", "weights.semantic"),
            ("search", {"user_id": "u"}, "user_id", "scope.user_id"),
            ("search", {"projectId": "x"}, "projectId", "project_id"),
            ("complete-task", {"tool_usage": [{"tool_name": "a", "argument": {}}]}, "tool_usage.0.argument", "tool_usage.0.arguments"),
            ("context", {"overrides": {"keyword": {"limits": 3}}}, "keyword.limits", "keyword.limit"),
            ("context", {"scopes": [{"kind": "org", "org": "o"}]}, "scopes.0.org", "scopes.0.org_id"),
            ("projects", {"settings": {"dedup": {"treshold": 0.9}}}, "settings.dedup.treshold", "settings.dedup.threshold"),
            ("complete-task", {"lessons": [{"content": "a", "quote": ["x"]}]}, "lessons.0.quote", "lessons.0.quotes"),
            ("proposals", {"targets": [{"id": "0192c7a4-0000-7000-8000-000000000000", "vers": 1}]}, "targets.0.vers", "targets.0.version"),
            ("proposals", {"evidence": [{"quotes": "x"}]}, "evidence.0.quotes", "evidence.0.quote"),
            ("files/sync", {"files": [{"path": "a", "hash": "b", "size": 1}]}, "files.0.size", None),
            ("purge", {"object": {"object_type": "a", "object": "b"}}, "object.object", None),
        ],
    )  # fmt: skip
    def test_it_names_the_path_of_a_nested_field(
        self, client_of, named, path, body, place, nearest
    ):
        needed = {
            "memories": named | {"content": "The crane is oiled", "memory_type": "learning"},
            "search": named | {"query": "crane"},
            "context": named | {"parts": ["digest"]},
            "projects": {"name": "another"},
        }  # fmt: skip
        root = client_of(role=Role.OWNER)
        problem = refused(root.post(f"{V1}/{path}", needed.get(path, named) | body))
        [message] = problem["errors"][place]

        assert nearest is None or f"did you mean `{nearest}`?" in message

    def test_an_item_of_a_batch_is_refused_alone(self, api, named, memory):
        good = {"content": memory["content"], "memory_type": "learning"}
        items = [good, good | {"tag": ["a"]}, {**good, "project": named["project_id"]}]
        results = api.post(f"{MEMORIES}/batch", named | {"memories": items}).json()
        statuses = [result["status_code"] for result in results["results"]]

        assert statuses == [201, 400, 200]
        problem = results["results"][1]["problem"]
        assert problem["code"] == "unknown_field"
        assert problem["errors"]["tag"] == ["Unknown field `tag`; did you mean `tags`?"]

    def test_a_field_that_only_the_row_has_is_read_only(self, api, named):
        tag = api.post(f"{V1}/tags", named | {"name": "cranes"}).json()
        problem = refused(api.patch(f"{V1}/tags/{tag['id']}", tag | {"name": "crane"}))

        assert problem["errors"]["created_at"] == [
            "`created_at` is read-only; leave it out."
        ]
        assert "name" not in problem["errors"]
        entry = named | {"content": "Oil the crane each Monday", "category": "gotchas"}
        written = api.post(f"{V1}/playbook/rules", entry).json()["entry"]
        url = f"{V1}/playbook/rules/{written['id']}"
        problem = refused(api.patch(url, {"priority": 3, "version": 1}))
        assert "did you mean `expected_version`?" in problem["errors"]["version"][0]

    def test_a_fixed_field_of_a_memory_is_immutable_as_before(self, api, memory):
        url = f"{MEMORIES}/{api.post(MEMORIES, memory).json()['id']}"

        assert api.patch(url, {"scope": {}}).json()["code"] == "immutable_field"
        assert "`goal`" in refused(api.patch(url, {"gaol": "x"}))["detail"]

    def test_a_route_without_parameters_says_so(self, api, memory, project):
        problem = refused(api.post(f"{MEMORIES}?wait=1", memory))

        assert problem["errors"] == {
            "wait": ["Unknown query parameter `wait`; this route has none."]
        }
        assert not Memory.objects.filter(project=project).exists()

    def test_free_objects_are_free(self, api, named, memory):
        free = {"nonsense": {"deep": [{"more": 1}]}}
        calls = [{"tool_name": "shell", "arguments": free, "result": free}]
        body = memory | {"metadata": free, "provenance": free, "value": free}
        stored = api.post(MEMORIES, body | {"tool_usage": [free], "kind": "fact"})

        assert stored.status_code == 201, stored.json()
        task = named | {"goal": "Oil the crane", "tool_usage": calls}
        assert api.post(TASKS, task).status_code == 200

    def test_every_alias_is_known(self, api, project):
        named = {"project": project.name}
        calls = [{"tool": "shell", "arguments": {}}, {"name": "read"}]
        task = named | {"goal": "Oil the crane", "tool_usage": calls}
        run = api.post(TASKS, task).json()
        stored = api.get(f"{V1}/runs/{run['run_id']}").json()["request"]

        assert [call["tool_name"] for call in stored["tool_usage"]] == ["shell", "read"]
        assert api.post(SEARCH, named | {"query": "crane"}).status_code == 200
        assert api.get(MEMORIES, named).status_code == 200

    def test_two_aliases_that_disagree_are_refused(
        self, api, client_of, memory, project, other_project
    ):
        root = client_of(role=Role.OWNER)
        both = memory | {"project": project.name}
        assert root.post(MEMORIES, both).status_code == 201

        answer = root.post(MEMORIES, memory | {"project": other_project.name})
        assert answer.json()["errors"].keys() == {"project"}
        hidden = api.post(MEMORIES, memory | {"project": other_project.name})
        assert hidden.status_code == 404
        calls = [{"tool_name": "shell", "name": "bash", "arguments": {}}]
        task = {"project": project.name, "goal": "Oil", "tool_usage": calls}
        answer = api.post(TASKS, task)
        assert answer.json()["errors"].keys() == {"tool_usage.0.tool_name"}

    def test_a_long_or_secret_name_is_not_repeated(self, api, memory):
        secret = "am_" + "k7Qz" * 11
        token = "ghp_" + "Ab1" * 12
        answer = api.post(MEMORIES, memory | {secret: 1, token: 2, "x" * 5_000: 3})

        refused(answer)
        assert secret not in answer.content.decode()
        assert token not in answer.content.decode()
        assert len(answer.content) < 4_000

    def test_very_many_names_are_not_all_listed(self, api, memory):
        names = {f"nonsense_{number}": number for number in range(50_000)}
        answer = api.post(MEMORIES, memory | names)

        assert len(refused(answer)["errors"]) == 21
        assert len(answer.content) < 10_000


@pytest.mark.django_db
class TestNoteMode:
    def test_the_receipt_has_the_note_and_the_memory_is_stored(
        self, api, memory, note_mode
    ):
        answer = api.post(MEMORIES, memory | {"feedbck": "x", "naïve": 1})

        assert answer.status_code == 201
        assert answer.headers[HEADER] == "feedbck, na%C3%AFve"
        assert (
            "Unknown field `feedbck`; did you mean `feedback`? It was ignored."
            in answer.json()["notes"]
        )

    def test_an_item_of_a_batch_has_its_own_note(self, api, named, memory, note_mode):
        items = [{**memory, "content": f"Crane number {n} is oiled"} for n in range(2)]
        items[1]["tag"] = []
        answer = api.post(f"{MEMORIES}/batch", named | {"memories": items})
        notes = [result["notes"] for result in answer.json()["results"]]

        assert notes[0] == []
        assert notes[1] == ["Unknown field `tag`; did you mean `tags`? It was ignored."]
        assert answer.headers[HEADER] == "memories.1.tag"

    def test_a_repeated_request_has_the_note_again(self, api, memory, note_mode):
        keyed = {"headers": {"Idempotency-Key": "the same"}}
        first, again = (
            api.post(MEMORIES, memory | {"tag": []}, **keyed) for _ in range(2)
        )

        assert again.headers["Idempotent-Replay"] == "true"
        assert first.json()["notes"] == again.json()["notes"]

    def test_a_wrong_value_is_refused_all_the_same(self, api, memory, note_mode):
        answer = api.post(MEMORIES, memory | {"tag": [], "confidence": 9})

        assert answer.json()["code"] == "invalid"
        assert answer.headers[HEADER] == "tag"

    @pytest.mark.parametrize("mode", ["refuse", "note"])
    def test_the_log_has_the_route_and_the_fields(self, api, memory, settings, mode):
        settings.UNKNOWN_FIELDS = mode
        with capture_logs() as lines:
            api.post(f"{MEMORIES}", memory | {"tag": []})
        [line] = [line for line in lines if line["event"] == "unknown_fields"]

        assert line["route"] == "api/v1/memories"
        assert (line["method"], line["mode"]) == ("POST", mode)
        assert line["fields"] == ["tag"]


class TestNearest:
    KNOWN = KnownFields(
        frozenset({"project_id", "content", "memory_type", "tags", "scope"}),
        {"scope": KnownFields(frozenset({"kind", "user_id"}))},
    )

    @pytest.mark.parametrize(
        ("name", "nearest"),
        [
            ("contnt", "content"),
            ("projectId", "project_id"),
            ("Project-ID", "project_id"),
            ("tags[]", "tags"),
            ("type", "memory_type"),
            ("user_id", "scope.user_id"),
            ("zzz", None),
            ("", None),
            ("\x00", None),
        ],
    )
    def test_it_is_the_name_that_was_meant(self, name, nearest):
        assert find_nearest(name, self.KNOWN) == nearest

    @given(
        st.recursive(
            st.none() | st.text(max_size=4),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["scope", "kind", "tags", "x", ""]), inner
                )
            ),
        )
    )
    def test_any_body_is_read(self, body):
        unknown = UnknownFields.find(self.KNOWN, body)

        assert bool(unknown) == bool(unknown.by_path)
        assert all(known for known in unknown.known_names.values())


@pytest.mark.parametrize(("mode", "found"), [("refuse", 0), ("note", 1)])
def test_note_mode_is_reported_before_production(settings, mode, found):
    settings.UNKNOWN_FIELDS = mode

    assert len(checks.ignored_fields()) == found


def test_bodies_are_closed_in_the_schema(client):
    schema = client.get("/api/schema").json()
    components = schema["components"]["schemas"]

    for name in ("CreateMemoryRequest", "SearchRequestRequest", "ScopeRequest"):
        shape = components[name]
        assert "oneOf" in shape or shape["additionalProperties"] is False
    assert components["ToolUsageRequest"]["properties"].keys() >= {"tool", "name"}
    metadata = components["CreateMemoryRequest"]["properties"]["metadata"]
    assert metadata["additionalProperties"] == {}
    assert "additionalProperties" not in components["MemoryDetail"]
