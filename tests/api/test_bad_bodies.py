"""Hostile input gets a clear 4xx that names the fix, or is stored and displayed harmlessly.

BAD_BODIES=all sends every wrong value in every field; the suite of every day a sample.
"""

from __future__ import annotations

import json
import os
import random
import re
from itertools import islice
from urllib.parse import urlencode

import pytest

from common.caller import Role
from common.text.paths import clean_path
from memories.models import Memory
from tests.isolation.route_table import TABLE, send
from tests.isolation.world import undone

pytestmark = pytest.mark.django_db
MEMORIES, TASKS = "/api/v1/memories", "/api/v1/complete-task"
SAMPLE = None if os.environ.get("BAD_BODIES") == "all" else 250
SEED = 20_261_122
SQL = "'; DROP TABLE memories_memory; -- \\' OR 1=1"
HTML = "<script>alert(1)</script><img src=x onerror=alert(2)>&amp;{{7*7}}${x}"


@pytest.fixture
def api(client_of, project):
    client = client_of(project, role=Role.OWNER)
    client.raise_request_exception = False
    return client


@pytest.fixture
def memory(project):
    return {
        "project_id": str(project.pk),
        "content": "The crane is oiled on Mondays",
        "memory_type": "learning",
    }


def raw(api, body, path=MEMORIES, kind="application/json", **headers):
    return api.generic("POST", path, body, kind, **headers)


def refused(answer, *codes):
    """The problem, which is one of these codes and says something."""
    assert answer.headers["Content-Type"] == "application/problem+json", answer.content
    problem = answer.json()
    assert 400 <= answer.status_code < 500, problem
    assert problem["code"] in codes, problem
    assert problem["detail"]
    return problem


class TestSize:
    def test_fifty_megabytes(self, api):
        body = b'{"content": "' + b"x" * 50_000_000 + b'"}'

        assert refused(raw(api, body), "too_large")["status"] == 413

    def test_a_task_of_one_byte_too_many(self, api, project):
        named = {"project_id": str(project.pk), "goal": "y" * 500_000}
        start = json.dumps(named)[:-1]
        room = 1024 * 1024 - len(start) - len(', "result": ""}')

        def task(size):
            return f'{start}, "result": "{"x" * size}"}}'.encode()

        assert len(task(room)) == 1024 * 1024
        assert refused(raw(api, task(room + 1), TASKS), "too_large")["status"] == 413
        assert raw(api, task(room), TASKS).status_code == 200

    def test_501_memories_in_a_batch(self, api, memory, project):
        project_id = memory.pop("project_id")
        body = {"project_id": project_id, "memories": [memory] * 501}
        problem = refused(api.post(f"{MEMORIES}/batch", body), "invalid")

        assert "500" in problem["errors"]["memories"][0]
        assert not Memory.objects.filter(project=project).exists()

    def test_501_tool_calls(self, api, project):
        call = {"tool_name": "shell", "arguments": {"command": "ls"}}
        body = {
            "project_id": str(project.pk),
            "goal": "List the files",
            "tool_usage": [call] * 501,
        }
        problem = refused(api.post(TASKS, body), "invalid")

        assert "500" in problem["errors"]["tool_usage"][0]
        body["tool_usage"].pop()
        assert api.post(TASKS, body).status_code == 200

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("content", "x" * 50_001),
            ("title", "x" * 501),
            ("tags", ["x"] * 101),
            ("tags", ["x" * 65]),
            ("file_paths", ["x" * 1_001]),
            ("file_paths", [f"{n}.py" for n in range(1_001)]),
            # Within the characters, beyond what an index entry holds.
            ("file_paths", ["".join(chr(0x1F300 + n * 7 % 900) for n in range(900))]),
            ("agent_id", "x" * 256),
        ],
        ids=lambda value: str(value)[:12],
    )
    def test_a_field_beyond_its_limit(self, api, memory, name, value):
        problem = refused(api.post(MEMORIES, memory | {name: value}), "invalid")

        assert any(path.startswith(name) for path in problem["errors"])

    @pytest.mark.parametrize(
        "name", ["content", "goal", "result", "key", "title", "agent_id", "tags"]
    )
    def test_a_field_at_its_limit_in_four_byte_characters(self, api, memory, name):
        most = {"content": 50_000, "goal": 20_000, "result": 20_000, "title": 500}
        picked = random.Random(SEED)
        length = most.get(name, 255)
        text = "".join(chr(picked.randrange(0x20000, 0x2A000)) for _ in range(length))
        value = [text[n : n + 64] for n in range(100)] if name == "tags" else text
        answer = api.post(MEMORIES, memory | {name: value})

        assert answer.status_code == 201, answer.content[:500]
        assert answer.json()["memory"][name] == value


class TestForm:
    @pytest.mark.parametrize(
        ("body", "code"),
        [
            (b"{", "invalid_json"),
            (b"{}{}", "invalid_json"),
            (b'{"a": 1,}', "invalid_json"),
            (b"{'a': 1}", "invalid_json"),
            (b'{"content": "one", "content": "two"}', "invalid_json"),
            (b'{"metadata": {"a": {"b": 1, "b": 1}}}', "invalid_json"),
            (b"[]", "invalid"),
            (b"null", "invalid"),
            (b'"text"', "invalid"),
            (b"7", "invalid"),
            (b"", "invalid"),
            (b"{}", "invalid"),
            (b"[" * 10_000 + b"]" * 10_000, "too_deep"),
            (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "too_deep"),
            (b'{"metadata": ' + b"[" * 70 + b"]" * 70 + b"}", "too_deep"),
            (b'{"a": 1' + b"0" * 400 + b"}", "invalid_number"),
            (b'{"a": ' + b"9" * 10_000 + b"}", "invalid_number"),
            (b'{"a": 9223372036854775808}', "invalid_number"),
            (b'{"a": 1e999}', "invalid_number"),
            (b'{"a": NaN}', "invalid_number"),
            (b'{"a": [-Infinity]}', "invalid_number"),
            (b'{"a": "\xff"}', "invalid_text"),
            (b'{"a": "\xed\xa0\x80"}', "invalid_text"),
            ('{"a": "é"}'.encode("latin-1"), "invalid_text"),
            ('{"a": "b"}'.encode("utf-16"), "invalid_text"),
            (b'{"a": "x\x00y"}', "invalid_json"),
        ],
        ids=lambda value: repr(value)[:30],
    )
    def test_a_body_that_is_not_a_valid_object(self, api, body, code):
        refused(raw(api, body), code)

    def test_a_key_that_occurs_twice_among_very_many(self, api):
        keys = [f'"{n}": 0' for n in range(200_000)]
        problem = refused(
            raw(api, f"{{{','.join([*keys, keys[-1]])}}}".encode()), "invalid_json"
        )

        assert "199999" in problem["detail"]

    @pytest.mark.parametrize(
        "kind",
        [
            "text/plain",
            "text/json",
            "application/xml",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json; charset=utf-16",
            "",
            "\xff",
        ],
    )
    def test_another_type_of_content(self, api, memory, project, kind):
        body = json.dumps(memory).encode()
        problem = refused(raw(api, body, kind=kind), "unsupported_media_type")

        assert "application/json" in problem["detail"]
        assert not Memory.objects.filter(project=project).exists()

    @pytest.mark.parametrize(
        "length",
        ["many", "-1", "1e3", "0x10", "\u00b2", "\u0663", "9" * 5_000, "9" * 19],
    )
    @pytest.mark.parametrize("path", [MEMORIES, TASKS])
    def test_an_invalid_length(self, api, path, length):
        refused(raw(api, b"{}", path, CONTENT_LENGTH=length), "length_required")

    @pytest.mark.parametrize("key", ["", "x" * 256, "é", "a\tb", "\x7f"])
    def test_an_invalid_idempotency_key(self, api, memory, project, key):
        answer = api.post(MEMORIES, memory, headers={"Idempotency-Key": key})

        refused(answer, "invalid_idempotency_key")
        assert not Memory.objects.filter(project=project).exists()


BAD_TEXT = {"nul": "a\x00b", "surrogate": "a\ud800b", "reversed": "\udfff\ud800"}


class TestText:
    @pytest.mark.parametrize("bad", BAD_TEXT.values(), ids=BAD_TEXT)
    def test_text_that_cannot_be_stored_is_replaced_in_each_field(
        self, api, memory, bad
    ):
        texts = ("content", "title", "goal", "result", "feedback", "outcome", "key")
        places = [{name: f"{bad} " * 5} for name in (*texts, "lessons", "agent_id")]
        places += [{"tags": [bad]}, {"file_paths": [bad]}, {"steps": ["fine", bad]}]
        places += [{"metadata": {bad: 1}}, {"metadata": {"a": [{"b": bad}]}}]
        places += [{"scope": {"kind": "user", "user_id": bad}}, {"value": bad}]
        for number, place in enumerate(places):
            memory["content"] = f"The crane number {number} is oiled on Mondays"
            answer = raw(api, json.dumps(memory | place).encode())
            stored = answer.json()

            assert answer.status_code == 201, stored
            assert "\ufffd" in json.dumps(stored["memory"], ensure_ascii=False), place
            assert any("U+FFFD" in note for note in stored["notes"]), place

    def test_a_key_of_ours_with_such_text_is_unknown(self, api, memory):
        body = json.dumps(memory | {"goal\x00": 1}).encode()

        assert "`goal`" in refused(raw(api, body), "unknown_field")["detail"]

    def test_a_surrogate_pair_is_one_character(self, api, memory):
        body = json.dumps(memory | {"title": "😀"}).encode()
        assert b"\\ud83d\\ude00" in body

        assert raw(api, body).json()["memory"]["title"] == "😀"

    @pytest.mark.parametrize(
        "query", ["q=%00", "q=a%00b", "q=%ff", "q=%ed%a0%80", "%00=1"]
    )
    @pytest.mark.parametrize("path", ["memories", "tags", "files", "audit", "playbook"])
    def test_a_query_string(self, api, path, query):
        refused(api.get(f"/api/v1/{path}?{query}"), "invalid_text")

    @pytest.mark.parametrize(
        "end", ["%00", "%ff", "%ed%a0%80", "..%2f..%2fetc", "%2e%2e"]
    )
    def test_a_path(self, api, end):
        refused(
            api.get(f"{MEMORIES}/{end}"), "invalid_text", "no_such_route", "not_found"
        )

    def test_a_secret_is_masked_in_the_tags_of_a_change_too(self, api, memory):
        secret = "AKIA" + "IOSFODNN7EXAMPLQ"
        stored = api.post(MEMORIES, memory).json()["id"]
        changed = api.patch(f"{MEMORIES}/{stored}", {"tags": [secret], "goal": secret})

        assert changed.status_code == 200
        assert secret not in changed.content.decode()
        assert secret not in api.get(f"{MEMORIES}/{stored}/history").content.decode()

    def test_json_in_a_string_is_checked_too(self, api, project):
        """String arguments are parsed, with escapes that the body's check never saw."""
        for arguments in (
            r'{"path": "a\u0000b"}',
            r'{"a\ud800": ["\udfff"]}',
            '{"a": NaN, "b": 1e999}',
            "[" * 10_000 + "]" * 10_000,
            '{"a": ' + "9" * 5_000 + "}",
        ):
            body = {
                "project_id": str(project.pk),
                "goal": "Read the file that has no name",
                "tool_usage": [{"tool_name": "read_file", "arguments": arguments}],
            }
            answer = api.post(TASKS, body)

            assert answer.status_code == 200, answer.content
            assert answer.json()["state"] == "done"


@pytest.mark.slow
class TestWrongTypes:
    WRONG = (
        None,
        True,
        0,
        -1,
        2**63 - 1,
        1.5,
        1e308,
        "",
        "x",
        "NaN",
        "-Infinity",
        "9" * 400,
        [],
        {},
        [[]],
        [None],
        [{}],
        [True],
        {"a": {"b": [None]}},
        "2026-13-45",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
        "😀" * 1_000,
        SQL + HTML,
        {"kind": ["user"]},
    )
    ASKED = (
        "",
        "x",
        "-1",
        "99999999999999999999",
        "NaN",
        "2026-13-45",
        "0001-01-01T00:00:00+23:59",
        "a" * 5_000,
        "\u00b2",
        "{}",
        "a,b",
        SQL,
        "b2xkZXI6eA==",
        "00000000-0000-7000-8000-000000000000",
    )

    def bodies(self, schema, world):
        """(route, body or query) with one field wrong, for every field there is."""
        for route in TABLE:
            path = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route.route)
            operation = schema["paths"].get(path, {}).get(route.method.lower(), {})
            for field in operation.get("parameters", []):
                if field["in"] == "query":
                    for value in self.ASKED:
                        yield route, {}, {field["name"]: value}
            for name in self.fields(schema, operation):
                for value in self.WRONG:
                    yield route, self.nested(route.body(world), name, value), {}

    def fields(self, schema, operation):
        """Names of the body's fields, `a.b` for those within."""
        content = operation.get("requestBody", {}).get("content", {})
        body = self.resolved(schema, content.get("application/json", {}).get("schema"))
        for name, inner in body.get("properties", {}).items():
            yield name
            inner = self.resolved(schema, inner)
            inner = self.resolved(schema, inner.get("items")) or inner
            yield from (f"{name}.{deep}" for deep in inner.get("properties", {}))

    def resolved(self, schema, part):
        part = part or {}
        while "$ref" in part or "allOf" in part:
            part = part.get("allOf", [part])[0]
            if "$ref" in part:
                name = part["$ref"].rpartition("/")[2]
                part = schema["components"]["schemas"][name]
        return part

    @staticmethod
    def nested(body, name, value):
        outer, _, inner = name.partition(".")
        if inner:
            value = {inner: value}
            if outer not in ("scope", "weights"):
                value = [value]
        return body | {outer: value}

    @pytest.mark.timeout(1_800)
    def test_each_is_refused_with_a_message_or_accepted(self, api, alices):
        schema = api.get("/api/schema").json()
        every = list(self.bodies(schema, alices))
        random.Random(SEED).shuffle(every)
        assert len(every) > 3_000
        wrong = []
        for route, body, query in islice(every, SAMPLE):
            with undone():
                answer = self.sent(api, route, alices, body, query)
            told = answer.headers.get("Content-Type") == "application/problem+json"
            if answer.status_code >= 500 or (answer.status_code >= 400) != told:
                wrong.append(f"{route.name} {body} {query}: {answer.content[:300]!r}")
            if answer.status_code == 400 and not answer.json()["detail"]:
                wrong.append(f"{route.name} {body} says nothing")

        assert not wrong, "\n".join(wrong)

    @staticmethod
    def sent(api, route, world, body, query):
        if route.method in ("GET", "DELETE"):
            asked = urlencode(route.query(world) | query)
            call = getattr(api, route.method.lower())
            return call(route.url(world), QUERY_STRING=asked)
        if query:
            return send(api, route, world)
        return getattr(api, route.method.lower())(route.url(world), body)

    @pytest.mark.parametrize("value", ["NaN", "nan", "inf", "-Infinity", "1e400"])
    def test_a_number_in_a_string_is_finite_too(self, api, project, memory, value):
        named = {"project_id": str(project.pk)}
        for path, body in (
            ("memories", memory | {"confidence": value}),
            ("search", named | {"query": "crane", "min_score": value}),
            ("search", named | {"query": "crane", "weights": {"keyword": value}}),
            ("deduplications", named | {"threshold": value}),
        ):
            refused(api.post(f"/api/v1/{path}", body), "invalid")


class TestHostileText:
    TEXTS = ("title", "goal", "result", "feedback", "outcome", "lessons", "key")

    @pytest.mark.parametrize("hostile", [SQL, HTML], ids=["SQL", "HTML"])
    def test_every_field_stores_it_unchanged(self, api, memory, hostile):
        fields = dict.fromkeys(self.TEXTS, hostile)
        fields |= {
            "content": f"{hostile} and more",
            "agent_id": hostile,
            "user_id": hostile,
            "created_in_session_id": hostile,
            "metadata": {hostile: [hostile]},
            "provenance": {hostile: hostile},
            "value": {hostile: hostile},
            "steps": [hostile],
            "tool_usage": [{hostile: hostile}],
            "tags": [hostile[:64]],
            "scope": {
                "kind": "object",
                "object_type": hostile,
                "object_id": hostile,
            },
        }
        stored = api.post(MEMORIES, memory | fields | {"file_paths": [hostile]})
        assert stored.status_code == 201, stored.content
        answer = api.get(f"{MEMORIES}/{stored.json()['id']}")
        shown = answer.json()

        assert {name: shown[name] for name in fields} == fields
        paths = [file["file_path"] for file in shown["files"]]
        assert paths == [clean_path(hostile)]
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"

    def test_it_is_escaped_in_snippets(self, api, memory):
        api.post(MEMORIES, memory | {"content": f"The crane {HTML} in the harbour"})
        for query in ("crane", "script alert", "img onerror", HTML):
            body = {"project_id": memory["project_id"], "query": query}
            [hit] = api.post("/api/v1/search", body).json()["hits"]

            assert "<script" not in hit["snippet"]
            assert "<img" not in hit["snippet"]
            assert re.sub(r"</?mark>", "", hit["snippet"]).count("<") == 0

    @pytest.mark.parametrize(
        "query",
        [
            SQL,
            HTML,
            "' OR '1'='1",
            "a & | ! ( ) <-> :* \\ ' % _",
            '"' * 9_999,
            "-a " * 3_000,
            '"' + "a b " * 2_000 + '"',
            "\u202e\u0301\ufdfa\u200b",
            "p:00000000-0000-7000-8000-000000000000",
        ],
        ids=lambda query: query[:10],
    )
    @pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
    def test_it_is_a_query_like_any_other(self, api, memory, query, mode):
        api.post(MEMORIES, memory)
        body = {"project_id": memory["project_id"], "query": query, "mode": mode}

        assert api.post("/api/v1/search", body).status_code == 200

    @pytest.mark.parametrize("hostile", [SQL, HTML], ids=["SQL", "HTML"])
    def test_it_is_kept_in_a_task_an_entry_a_tag_and_a_project(
        self, api, project, hostile
    ):
        named = {"project_id": str(project.pk)}
        task = {
            "goal": f"{hostile} to do",
            "result": hostile,
            "feedback": hostile,
            "agent_id": hostile,
            "tool_usage": [
                {
                    "tool_name": hostile,
                    "arguments": {hostile: hostile},
                    "result": hostile,
                }
            ],
        }
        run = api.post(TASKS, named | task).json()
        kept = api.get(f"/api/v1/runs/{run['run_id']}").json()["request"]
        entry = {"content": f"Never type {hostile}", "reason": hostile}
        written = api.post("/api/v1/playbook/rules", named | entry).json()
        tag = api.post("/api/v1/tags", named | {"name": hostile[:64]}).json()
        address = f"/api/v1/projects/{project.pk}"
        changed = api.patch(address, {"description": hostile}).json()

        assert kept["goal"] == task["goal"]
        assert kept["tool_usage"][0]["result"] == hostile
        assert written["delta"]["content"] == entry["content"]
        assert tag["name"] == hostile[:64]
        assert changed["description"] == hostile
