"""Both clients against a scripted server: what they send, repeat, read and refuse."""

from __future__ import annotations

import asyncio
import json
import warnings

import httpx
import pytest
from agent_memory import AgentMemoryError, AsyncClient, Client, Problem, Unreachable
from agent_memory.errors import VersionWarning
from agent_memory.request import Request
from agent_memory.version import HEADER, VERSION, describe_gap

URL = "http://memory.test"


class Script:
    """A server that answers with the next line of a script, and keeps the requests."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        answer.headers.setdefault(HEADER, VERSION)
        return answer

    @property
    def last_body(self):
        return json.loads(self.requests[-1].content)


class Run:
    """The same call of the client or of its async twin."""

    def __init__(self, kind, waits):
        self.kind = kind
        self.waits = waits

    def __call__(self, script, call, **options):
        options = {
            "project": "shop",
            "transport": httpx.MockTransport(script),
        } | options
        if self.kind is Client:
            with Client(URL, "am_secret", **options) as client:
                answer = call(client)
                return list(answer) if hasattr(answer, "__next__") else answer
        return asyncio.run(self.call_async(call, options))

    async def call_async(self, call, options):
        async with AsyncClient(URL, "am_secret", **options) as client:
            return await call(client)


@pytest.fixture(params=[Client, AsyncClient], ids=["sync", "async"])
def run(request, monkeypatch):
    waits = []

    async def wait(seconds):
        waits.append(seconds)

    monkeypatch.setattr("agent_memory.client.time.sleep", waits.append)
    monkeypatch.setattr("agent_memory.client.asyncio.sleep", wait)
    return Run(request.param, waits)


def test_it_sends_a_call_with_its_key_and_its_project(run):
    script = Script(httpx.Response(200, json={"hits": []}))

    assert run(script, lambda c: c.search(query="prices")) == {"hits": []}

    sent = script.requests[0]
    assert (sent.method, str(sent.url)) == ("POST", f"{URL}/api/v1/search")
    assert sent.headers["Authorization"] == "Bearer am_secret"
    assert script.last_body == {"query": "prices", "project": "shop"}


def test_a_call_can_name_another_project(run):
    script = Script(httpx.Response(200, json={"hits": []}))

    run(script, lambda c: c.search(query="prices", project="other"))

    assert script.last_body["project"] == "other"


def test_a_slash_in_a_key_stays_part_of_the_key(run):
    script = Script(httpx.Response(200, json={}))

    run(script, lambda c: c.sessions_read("cli/main"))

    assert (
        script.requests[0].url.raw_path == b"/api/v1/sessions/cli%2Fmain?project=shop"
    )


def test_a_write_is_repeated_with_the_same_idempotency_key(run):
    script = Script(
        httpx.ReadTimeout("slow"),
        httpx.Response(503),
        httpx.Response(201, json={"id": "1"}),
    )

    assert run(script, lambda c: c.memories_create(content="x")) == {"id": "1"}

    keys = {request.headers["Idempotency-Key"] for request in script.requests}
    assert len(script.requests) == 3 and len(keys) == 1
    assert run.waits[1] > run.waits[0] / 3


def test_two_writes_have_two_idempotency_keys(run):
    script = Script(httpx.Response(201, json={}), httpx.Response(201, json={}))

    for _ in range(2):
        run(script, lambda c: c.memories_create(content="x"))

    assert len({request.headers["Idempotency-Key"] for request in script.requests}) == 2


def test_a_key_of_the_callers_own_is_sent(run):
    script = Script(httpx.Response(201, json={}))

    run(script, lambda c: c.memories_create(content="x", idempotency_key="mine"))

    assert script.requests[0].headers["Idempotency-Key"] == "mine"


def test_it_waits_as_long_as_the_server_asks(run):
    script = Script(
        httpx.Response(429, headers={"Retry-After": "7"}), httpx.Response(200, json={})
    )

    run(script, lambda c: c.memories_read("1"))

    assert run.waits == [7.0]


@pytest.mark.parametrize("text", ["Thu, 26 Nov 2026 18:00:00 GMT", "soon"])
def test_a_wait_that_is_no_number_of_seconds_fails_no_call(run, text):
    script = Script(
        httpx.Response(429, headers={"Retry-After": text}), httpx.Response(200, json={})
    )

    run(script, lambda c: c.memories_read("1"))

    assert len(script.requests) == 2


def test_it_does_not_wait_for_minutes(run):
    script = Script(httpx.Response(429, headers={"Retry-After": "600"}))

    with pytest.raises(Problem) as error:
        run(script, lambda c: c.memories_read("1"))

    assert (error.value.status, run.waits) == (429, [])


def test_a_call_that_may_have_had_an_effect_is_not_repeated(run):
    script = Script(httpx.ReadTimeout("slow"))

    with pytest.raises(Unreachable):
        run(script, lambda c: c.context(query="x"))

    assert len(script.requests) == 1


def test_a_call_that_was_never_sent_is_repeated(run):
    script = Script(httpx.ConnectError("refused"), httpx.Response(200, json={}))

    run(script, lambda c: c.context(query="x"))

    assert len(script.requests) == 2


def test_a_refusal_has_its_code_its_detail_and_a_hint(run):
    body = {"code": "invalid", "detail": "No.", "errors": {"content": ["is empty"]}}
    script = Script(httpx.Response(400, json=body))

    with pytest.raises(Problem, match=r"No\. content: is empty") as error:
        run(script, lambda c: c.memories_create(content=""))

    assert (error.value.code, error.value.status) == ("invalid", 400)
    assert error.value.errors == {"content": ["is empty"]}


def test_a_bad_key_is_explained(run):
    script = Script(
        httpx.Response(401, json={"code": "unauthenticated", "detail": "No."})
    )

    with pytest.raises(AgentMemoryError) as error:
        run(script, lambda c: c.memories_read("1"))

    assert "am connect" in error.value.hint


def test_an_answer_that_is_no_json_is_a_problem_too(run):
    script = Script(httpx.Response(404, text="<h1>nginx</h1>"))

    with pytest.raises(Problem, match="answered 404") as error:
        run(script, lambda c: c.memories_read("1"))

    assert error.value.code == "http_404"


def test_a_server_that_is_gone_is_said_with_its_address(run):
    script = Script(*[httpx.ConnectError("refused")] * 3)

    with pytest.raises(
        Unreachable, match=r"memory\.test does not answer: refused"
    ) as error:
        run(script, lambda c: c.memories_read("1"))

    assert error.value.code == "unreachable"


def test_an_empty_answer_is_none_and_a_text_is_a_text(run):
    script = Script(httpx.Response(204), httpx.Response(200, text="# Rules"))

    assert run(script, lambda c: c.memories_delete("1")) is None
    assert run(script, lambda c: c.playbook_export()) == "# Rules"


def test_bytes_are_sent_as_they_are():
    script = Script(httpx.Response(200, json={}))
    call = Request("POST", "x", content=b"{}\n", content_type="application/gzip")

    with Client(URL, "k", transport=httpx.MockTransport(script)) as client:
        client.send(call)

    assert script.requests[0].content == b"{}\n"
    assert script.requests[0].headers["Content-Type"] == "application/gzip"


class TestPages:
    """Pages are followed by their address, and never to another host."""

    @pytest.fixture
    def script(self):
        following = "https://elsewhere.test/api/v1/memories?project=shop&cursor=abc"
        return Script(
            httpx.Response(200, json={"results": [1, 2], "next": following}),
            httpx.Response(200, json={"results": [3], "next": None}),
        )

    def test_all_rows_are_read(self, script):
        transport = httpx.MockTransport(script)
        with Client(URL, "am_secret", project="shop", transport=transport) as client:
            rows = list(client.follow(client.memories_list()))

        assert rows == [1, 2, 3]
        assert str(script.requests[1].url) == (
            f"{URL}/api/v1/memories?project=shop&cursor=abc"
        )

    def test_all_rows_are_read_by_the_async_client(self, script):
        async def read():
            transport = httpx.MockTransport(script)
            async with AsyncClient(
                URL, "k", project="shop", transport=transport
            ) as client:
                return [
                    row async for row in client.follow(await client.memories_list())
                ]

        assert asyncio.run(read()) == [1, 2, 3]


class TestVersions:
    """An older or newer side is said in words."""

    def test_the_same_release_has_no_gap(self):
        assert describe_gap("0.1.7", "0.1.0") == ""

    def test_an_older_client_is_told_to_update(self):
        assert "Update the client" in describe_gap("0.2.0", "0.1.0")

    def test_an_older_server_is_told_with_the_client_that_fits_it(self):
        assert "agent-memory==0.9.1" in describe_gap("0.9.1", "0.10.0")

    def test_a_server_without_a_version_may_be_another_service(self):
        assert "address" in describe_gap("", "0.1.0")

    def test_both_versions_are_sent_and_a_gap_is_warned_of_once(self, run):
        script = Script(*[httpx.Response(200, json={}, headers={HEADER: "9.0.0"})] * 2)
        transport = httpx.MockTransport(script)

        with Client(URL, "k", transport=transport) as client:
            with pytest.warns(VersionWarning, match=r"9\.0\.0"):
                client.memories_read("1")
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                client.memories_read("1")

        assert script.requests[0].headers[HEADER] == VERSION

    def test_an_error_names_the_gap(self, run):
        answer = httpx.Response(
            400, json={"code": "unknown_field"}, headers={HEADER: "9.0.0"}
        )

        with pytest.raises(Problem) as error:
            run(Script(answer), lambda c: c.search(query="x"))

        assert "9.0.0" in error.value.hint
