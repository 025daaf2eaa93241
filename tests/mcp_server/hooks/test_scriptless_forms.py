"""The hooks that the page Connect shows, called as each harness calls them.

Documented: https://code.claude.com/docs/en/hooks, https://learn.chatgpt.com/docs/hooks and
https://docs.github.com/en/copilot/reference/hooks-reference. A hook of type `http` posts the
event as it is. One of type `mcp_tool` sends its `input`, in which `${a.b}` is a field of the
event, with the field's own type if nothing else is in the text.
"""

from __future__ import annotations

import json
import re

import pytest
from rest_framework.test import APIClient

from access.models import ApiKey
from common.caller import Role
from console.connect import harness_forms
from mcp_server.hooks.harnesses.registry import find_harness
from mcp_server.models import HookCount
from tests.mcp_server.conftest import McpClient
from tests.mcp_server.hooks.test_harness_events import EVENTS, event_of

pytestmark = pytest.mark.django_db
ADDRESS = "http://testserver"
RULE = "Lock the crane at night."
WITH_HOOKS = ("claude-code", "codex", "copilot")


@pytest.fixture
def rule(alice_api, project):
    body = {"project_id": str(project.pk), "content": RULE, "category": "gotchas"}
    assert alice_api.post("/api/v1/playbook/rules", body).status_code == 201


@pytest.fixture
def call(project):
    """Call the hook of an event as the harness does; return what the harness reads.

    None is an event that the settings have no hook for.
    """
    key, secret = ApiKey.new(name="Connect", role=Role.WRITER)
    key.save()
    key.projects.set([project])

    def call(harness, kind, session="S"):
        event = event_of(harness, kind, session)
        event.pop("am", None)  # only `am` adds it
        hook = find_hook(harness, kind, event)
        if hook is None:
            return None
        if hook["type"] == "http":
            return call_http(hook, event, secret)
        return call_tool(hook, event, secret, settings_of(harness))

    def find_hook(harness, kind, event):
        known = find_harness(harness)
        names = [n for n in hooks_of(harness) if known.kinds[n] == kind]
        group = hooks_of(harness)[names[0]][0] if names else {}
        matcher = group.get("matcher")
        subject = event.get("tool_name") or event.get("source") or ""
        if not group or (matcher and not re.fullmatch(matcher, subject)):
            return None
        return group["hooks"][0] if "hooks" in group else group

    def settings_of(harness):
        [form] = [f for f in harness_forms.fill(ADDRESS, project) if f.name == harness]
        return [file.text for file in form.files]

    def hooks_of(harness):
        texts = [text for text in settings_of(harness) if text.startswith("{")]
        return next(d["hooks"] for d in map(json.loads, texts) if "hooks" in d)

    call.api = APIClient(headers={"Authorization": f"Bearer {secret}"})
    return call


def call_http(hook, event, secret):
    headers = {
        name: re.sub(
            r"\$\{(\w+)\}",
            lambda match: secret if match[1] in hook["allowedEnvVars"] else "",
            value,
        )
        for name, value in hook["headers"].items()
    }
    answer = APIClient().post(
        hook["url"].removeprefix(ADDRESS), event, format="json", headers=headers
    )
    assert answer.status_code == 200, answer.content
    return answer.json()


def call_tool(hook, event, secret, texts):
    api = APIClient(headers={"Authorization": f"Bearer {secret}"})
    [url] = re.findall(r'"(http://testserver/mcp/[^"]+)"', "\n".join(texts))
    client = McpClient(api, url.removeprefix(ADDRESS))
    result = client.result(hook["tool"], expand(hook["input"], event))
    assert not result["isError"], result
    return json.loads(result["content"][0]["text"])


def expand(template, event):
    """Fill the fields in; a field that is not in the event is an error, as in Codex."""
    if isinstance(template, dict):
        return {name: expand(inner, event) for name, inner in template.items()}
    if isinstance(template, str) and (found := re.fullmatch(r"\$\{(\w+)\}", template)):
        return event[found[1]]
    return template


@pytest.mark.parametrize("harness", WITH_HOOKS)
def test_each_event_arrives_as_what_it_is(call, harness):
    answers = {kind: call(harness, kind) for kind in EVENTS[harness]}

    sent = {kind for kind, answer in answers.items() if answer is not None}
    left_out = {
        "claude-code": {"session-start", "stop"},  # at launch it calls no tool
        "codex": {"stop", "session-end"},
        "copilot": {"stop"},
    }
    assert sent == EVENTS[harness].keys() - left_out[harness]
    # Copilot's JSON does not say that the call worked; the address names both the same.
    named = sent - {"tool"} if harness == "copilot" else sent
    assert set(HookCount.objects.values_list("harness", "event")) == {
        (harness, kind) for kind in named
    }


@pytest.mark.usefixtures("rule")
@pytest.mark.parametrize(
    ("harness", "kind"),
    [
        ("claude-code", "prompt"),
        ("codex", "session-start"),
        ("codex", "prompt"),
        ("copilot", "session-start"),
    ],
)
def test_a_session_starts_with_the_rules(call, harness, kind):
    answer = call(harness, kind)

    name = event_of(harness, kind).get("hook_event_name")
    output = answer["hookSpecificOutput"] if name else answer
    assert RULE in output["additionalContext"]
    assert output.get("hookEventName") == name


@pytest.mark.usefixtures("rule")
def test_claude_code_is_given_it_again_after_a_compaction(call, monkeypatch):
    call("claude-code", "prompt")
    monkeypatch.setitem(EVENTS["claude-code"]["session-start"], "source", "compact")

    assert RULE in str(call("claude-code", "session-start"))


@pytest.mark.parametrize(
    ("harness", "kind"),
    [
        ("claude-code", "tool-failed"),
        ("claude-code", "tool"),
        ("codex", "tool"),
        ("copilot", "tool-failed"),
    ],
)
def test_a_failed_call_is_given_the_known_fix(call, complete, harness, kind):
    complete(call.api, session_id="s1")

    assert 'Run "go test -tags=it ./ledger" instead of' in str(call(harness, kind))


def test_a_key_that_has_ended_is_refused_with_a_code_that_blocks_nobody(client):
    """Each of the three takes any status but 2xx for an error that blocks nothing."""
    headers = {"Authorization": "Bearer am_ended"}

    for path in ("/hooks/claude-code", "/hooks/copilot?event=prompt", "/mcp"):
        answer = client.post(path, {}, "application/json", headers=headers)
        assert answer.status_code == 401
