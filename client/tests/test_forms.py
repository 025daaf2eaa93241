"""The settings with which a harness calls the service by itself."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import generate_forms
import pytest
from agent_memory import settings_edit
from agent_memory.harnesses import BY_NAME, HARNESSES
from agent_memory.scriptless import KEY_VARIABLE, ProjectAddress

SERVICE = ProjectAddress("https://memory.example.com", "acme/web shop")
URL = "https://memory.example.com/mcp/acme/web%20shop"
QUERY = "project_id=acme%2Fweb+shop"


def render(name):
    """Return {path: text} of a harness."""
    harness = BY_NAME[name]
    files = settings_edit.render_files(harness, generate_forms.HOME, Path(), SERVICE)
    return {str(path): text for path, text in files.items()}


def test_the_console_has_the_forms_of_the_harnesses():
    kept = generate_forms.FILE.read_text(encoding="utf-8")

    assert generate_forms.render() == kept, "run python client/generate_forms.py"


@pytest.mark.parametrize(
    ("name", "path", "keys", "bearer"),
    [
        ("claude-code", "~/.claude.json", ["mcpServers"], "${%s}"),
        ("copilot", "~/.copilot/mcp-config.json", ["mcpServers"], "${%s}"),
        ("gemini", "~/.gemini/settings.json", ["mcpServers"], "$%s"),
        ("opencode", "~/.config/opencode/opencode.json", ["mcp"], "{env:%s}"),
        ("cursor", ".cursor/mcp.json", ["mcpServers"], "${env:%s}"),
    ],
)
def test_the_server_is_named_by_its_address_and_the_key_by_a_variable(
    name, path, keys, bearer
):
    settings = json.loads(render(name)[path])
    for key in keys:
        settings = settings[key]
    entry = settings["agent-memory"]

    assert URL in (entry.get("url"), entry.get("httpUrl"))
    assert entry["headers"] == {"Authorization": f"Bearer {bearer % KEY_VARIABLE}"}
    assert "command" not in entry


def test_codex_has_its_own_field_for_the_variable():
    [entry] = tomllib.loads(render("codex")["~/.codex/config.toml"])[
        "mcp_servers"
    ].values()

    assert entry == {"url": URL, "bearer_token_env_var": KEY_VARIABLE}


def test_claude_code_posts_each_event_but_the_start():
    hooks = json.loads(render("claude-code")["~/.claude/settings.json"])["hooks"]
    kinds = {name: group["hooks"][0]["type"] for name, [group] in hooks.items()}

    assert {name for name, kind in kinds.items() if kind != "http"} == {"SessionStart"}
    assert hooks["SessionStart"][0]["matcher"] == "clear|compact"
    [prompt] = hooks["UserPromptSubmit"][0]["hooks"]
    assert prompt["url"] == (
        f"https://memory.example.com/hooks/claude-code?{QUERY}&opens_session=true"
    )
    assert prompt["allowedEnvVars"] == [KEY_VARIABLE]


def test_copilot_names_the_event_in_the_address():
    text = render("copilot")["~/.copilot/hooks/agent-memory.json"]
    data = json.loads(text)
    urls = {name: hook["url"] for name, [hook] in data["hooks"].items()}

    assert data["version"] == 1
    assert urls["sessionStart"].endswith(f"copilot?{QUERY}&event=session-start")
    assert {hook["type"] for [hook] in data["hooks"].values()} == {"http"}


def test_the_plugin_of_opencode_posts_with_the_key_of_its_environment():
    text = render("opencode")["~/.config/opencode/plugins/agent-memory.js"]

    assert 'fetch(HOOK + "&event=" + event' in text
    assert f'"https://memory.example.com/hooks/opencode?{QUERY}"' in text
    assert f"process.env.{KEY_VARIABLE}" in text
    assert "Bun.spawn" not in text


@pytest.mark.parametrize("name", ["gemini", "cursor"])
def test_a_harness_whose_hooks_run_commands_has_the_tools_only(name):
    assert len(render(name)) == 1
    assert not BY_NAME[name].has_remote_hooks


@pytest.mark.parametrize("harness", HARNESSES, ids=lambda harness: harness.name)
def test_no_settings_start_a_program(harness):
    texts = "".join(render(harness.name).values())

    assert "/opt/" not in texts
    assert '"command"' not in texts
