"""The documented events of each harness, replayed: what is read, given and counted."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from ace.repairs import failed_call
from ace.task import task as tasks
from common.text.memory_fence import OPEN
from conversations.models import Session
from mcp_server.hooks.harnesses.registry import HARNESSES, find_harness, read_event
from mcp_server.hooks.hook_event import EventKind
from mcp_server.models import HookCount
from tests.ace.repairs.conftest import ERROR, FAILED

EVENTS = json.loads((Path(__file__).parent / "harness_events.json").read_text())
PROMPT = "Retry the invoice export when the gateway answers busy"
ALL = [(harness, kind) for harness, events in EVENTS.items() for kind in events]
CALLS = [(harness, kind) for harness, kind in ALL if kind.startswith("tool")]


def event_of(harness, kind, session="S"):
    """Return an event with the texts that the tests are about."""

    def fill(value):
        if isinstance(value, dict):
            return {name: fill(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [fill(inner) for inner in value]
        if value == "S":
            return session
        if not isinstance(value, str):
            return value
        # Some harnesses send JSON within a string.
        error = json.dumps(ERROR)[1:-1] if value.startswith("{") else ERROR
        texts = {"FAILED": FAILED, "ERROR": error, "PROMPT": PROMPT}
        for name, text in texts.items():
            value = value.replace(name, text)
        return value

    return fill(EVENTS[harness][kind])


def read(harness, kind):
    return read_event(find_harness(harness), event_of(harness, kind))


def test_each_harness_has_its_events():
    assert list(EVENTS) == list(HARNESSES)


@pytest.mark.parametrize("harness", list(HARNESSES))
def test_each_event_is_known_with_its_session(harness):
    for kind in EVENTS[harness]:
        event = read(harness, kind)
        assert (event.kind, event.session) == (kind, "S")
        assert bool(event.subagent) == (kind == "subagent-start"), kind
        assert event.prompt == (PROMPT if kind == "prompt" else ""), kind


@pytest.mark.parametrize(("harness", "kind"), CALLS)
def test_each_failed_call_has_its_command_and_its_error(harness, kind):
    call = read(harness, kind).call

    step = {"tool": call.tool, "arguments": call.arguments, "result": call.result}
    if call.has_failed:
        step["is_error"] = True
    found = failed_call.read(tasks.parse_ended_call(step))
    assert found.call.command.startswith(FAILED)
    assert found.signatures[0].name == "shell go: flag provided but not defined: -tag"


def test_a_call_of_copilot_that_worked_has_not_failed():
    event = event_of("copilot", "tool") | {"am": {"event": "tool-failed"}}
    event["toolResult"] = {"resultType": "success", "textResultForLlm": "ok"}

    call = read_event(find_harness("copilot"), event).call

    assert call.has_failed is None


def test_a_command_that_failed_in_a_call_that_worked_has_failed():
    text = "sh: gti: not found\n<exited with exit code 127>".replace("\\\n", "\n")
    copilot = event_of("copilot", "tool") | {"am": {"event": "tool-failed"}}
    copilot["toolResult"] = {"resultType": "success", "textResultForLlm": text}
    state = {"status": "completed", "output": text, "metadata": {"exit": 127}}
    part = {"type": "tool", "tool": "bash", "sessionID": "S", "state": state}
    opencode = {"type": "message.part.updated", "properties": {"part": part}}
    shown = "<untrusted_context>\nOutput: gti\nExit Code: 127\nProcess Group PGID: 9\n</untrusted_context>"
    gemini = event_of("gemini", "tool") | {"tool_response": {"llmContent": shown}}

    events = {"copilot": copilot, "opencode": opencode, "gemini": gemini}
    calls = [read_event(find_harness(name), each).call for name, each in events.items()]

    assert [call.has_failed for call in calls] == [True, True, True]
    assert calls[2].result == "gti"


def nest(levels):
    value = "end"
    for _ in range(levels // 2):
        value = [{"content": value}]
    return value


ODD_VALUES = (7, 10**400, 1e300, True, None, [], ["x"], {}, {"x": [1]}, nest(900))


def put(odd, event):
    """Yield copies of an event in which one inner value is the odd one."""
    for name, inner in event.items():
        yield event | {name: odd}
        if isinstance(inner, dict):
            yield from (event | {name: changed} for changed in put(odd, inner))


class TestUnknown:
    @pytest.mark.parametrize("harness", list(HARNESSES))
    def test_no_json_fails(self, harness):
        for payload in (
            {},
            {"hook_event_name": "Dreamt", "session_id": 7},
            {"hook_event_name": ["SessionStart"], "tool_name": {}, "am": "x"},
            {"type": "session.created", "properties": [], "input": 1, "output": None},
            {"am": {"event": "prompt", "files": {"": "x", "a": 1, "b": "0" * 64}}},
        ):
            event = read_event(find_harness(harness), payload)
            assert event.session == "", payload
            assert set(event.hashes) <= {"b"}, payload

    @pytest.mark.parametrize("harness", list(HARNESSES))
    def test_no_value_of_another_type_fails(self, harness):
        events = [event_of(harness, kind) for kind in EVENTS[harness]]
        for odd, event in itertools.product(ODD_VALUES, events):
            for payload in put(odd, event):
                call = read_event(find_harness(harness), payload).call
                assert call is None or isinstance(call.result, str)

    def test_an_event_may_be_named_beside_the_json(self):
        copilot = find_harness("copilot")

        assert read_event(copilot, {}, "sessionStart").kind is EventKind.SESSION_START
        assert read_event(copilot, {}, "stop").kind is EventKind.STOP
        assert read_event(copilot, {}, "unknown").kind is EventKind.UNKNOWN

    def test_at_most_fifty_hashes_are_read(self):
        files = {f"src/{number}.py": "0" * 64 for number in range(80)}

        event = read_event(find_harness("codex"), {"am": {"files": files}})

        assert len(event.hashes) == 50


@pytest.mark.django_db
class TestOverHttp:
    @pytest.mark.parametrize("harness", list(HARNESSES))
    def test_a_whole_session_is_answered_and_counted(
        self, hook, complete, bob_api, alice_api, project, harness
    ):
        rule = {"project_id": str(project.pk), "category": "patterns"}
        rule["content"] = "Name each branch after the ticket that it closes."
        assert alice_api.post("/api/v1/playbook/rules", rule).status_code == 201
        complete(bob_api, session_id="earlier")

        answers = {
            kind: hook(bob_api, harness, **event_of(harness, kind))
            for kind in EVENTS[harness]
        }

        given = {kind for kind, answer in answers.items() if OPEN in str(answer)}
        starts = {"session-start", "subagent-start"} & set(answers)
        failure = next(kind for kind in answers if kind.startswith("tool"))
        assert given == {*starts, failure}  # the second failure has the same signature
        assert all(answers[kind] == {} for kind in set(answers) - given)
        assert Session.objects.get().key == "S"
        rows = HookCount.objects.filter(harness=harness)
        assert set(rows.values_list("event", flat=True)) == set(answers)
