"""The commands as a person types them, against a scripted server."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import agent_memory
import pytest
from agent_memory import (
    command_line,
    connections,
    hook,
    hook_log,
    keys,
    mcp,
    output,
    own_command,
    transcript,
)
from agent_memory.command_line import app
from agent_memory.version import HEADER, VERSION
from typer.testing import CliRunner

AM = str(own_command.CHECKOUT_SCRIPT)  # these tests run in a checkout
CHECKS = {
    "database": {"ok": True, "detail": "fine"},
    "worker": {"ok": True, "detail": "alive"},
}
PROJECT = {"id": "p1", "name": "shop"}
ISSUED = {"id": "k1", "secret": "am_issued", "prefix": "am_issue"}
MEMORY = {
    "id": "m1",
    "memory_type": "decision",
    "content": "Prices [bold]are[/bold] cents.",
}
SESSION = {
    "key": "01a218f7-1e6a-71df-bfc4-bb3ee32f2c7e",
    "title": "Mend the report by region, which counts each order twice in November",
    "agent_id": "alice@workstation",
    "last_active": "2026-11-26T21:37:12.345678Z",
}


class Service:
    """Answers what the commands ask of a service."""

    def __init__(self):
        self.may_issue = True
        self.is_key_valid = True
        self.role = "writer"
        self.issued = dict(ISSUED)
        self.events = []
        self.tool_result = {
            "isError": False,
            "content": [{"type": "text", "text": "Forgotten."}],
            "structuredContent": {"id": "m1", "status": "forgotten"},
        }
        self.checks = CHECKS
        self.ended = []
        self.overrides = {}  # {end of a path: its answer}
        self.proposals = [
            {"id": name, "operation": "add", "content": f"Rule {name}", "reason": ""}
            for name in ("d12", "d13", "d21")
        ]

    def keys(self):
        live = {"id": "k0", "prefix": "am_given", "role": self.role, "name": "mine"}
        ended = {"revoked_at": "2026-01-01T00:00:00Z", "prefix": "am_ended"}
        yield {**live, "projects": ["p1"], "revoked_at": None, "replaced_by": None}
        yield from ({**ended, "replaced_by": None, **row} for row in self.ended)

    def __call__(self, method, path, headers, body):
        answer = self.answer(method, path.partition("?")[0], body)
        status, data = answer if isinstance(answer, tuple) else (200, answer)
        return status, {HEADER: VERSION}, data

    def answer(self, method, path, body):
        for end, given in self.overrides.items():
            if path.endswith(end):
                return given
        if path == "/healthz":
            return {"status": "ok"}
        if path == "/readyz":
            return {"status": "ready", "checks": self.checks}
        if not self.is_key_valid:
            return 401, {"code": "unauthenticated", "detail": "No such key."}
        if path == "/hooks/status":
            return self.events
        if path.startswith("/hooks/"):
            return {}
        if path.startswith("/mcp/"):
            ident = json.loads(body)["id"]
            if json.loads(body)["method"] == "tools/call":
                return {"jsonrpc": "2.0", "id": ident, "result": self.tool_result}
            result = {
                "serverInfo": {"name": "agent-memory"},
                "protocolVersion": "2025-06-18",
            }
            return {"jsonrpc": "2.0", "id": ident, "result": result}
        route = (method, path.removeprefix("/api/v1/"))
        if route == ("POST", "keys"):
            return (
                (201, self.issued)
                if self.may_issue
                else (403, {"code": "forbidden", "detail": "No."})
            )
        if path.endswith("/transcript"):
            content = gzip.decompress(body)
            return {"cursor": len(content), "prefix": "x", "messages": 2, "tasks": 1}
        return {
            ("GET", "projects"): {"results": [PROJECT], "next": None},
            ("GET", "projects/p1"): PROJECT,
            ("GET", "keys"): {"results": [*self.keys()], "next": None},
            ("POST", "keys/k9/rotate"): (201, {**ISSUED, "secret": "am_again"}),
            ("DELETE", "keys/k1"): (204, {}),
            ("POST", "search"): {"hits": [{"score": 0.5, "memory": MEMORY}]},
            ("GET", "memories"): {"results": [MEMORY], "next": None},
            ("GET", "memories/m1"): MEMORY,
            ("GET", "sessions"): {"results": [SESSION], "next": None},
            ("POST", "context"): {"text": "Take the lock."},
            ("GET", "playbook"): {"results": [], "next": None},
            ("GET", "proposals"): {"results": self.proposals, "next": None},
            ("POST", "proposals/d12/accept"): (
                403,
                {"code": "forbidden", "detail": "No."},
            ),
            ("POST", "proposals/d21/reject"): {"delta": {"status": "rejected"}},
        }.get(route, (404, {"code": "not_found", "detail": f"No {path}."}))


@pytest.fixture
def service(server):
    server.answer = Service()
    return server


@pytest.fixture
def am(home, repository, monkeypatch):
    monkeypatch.chdir(repository)
    runner = CliRunner()
    return lambda *arguments, **options: runner.invoke(app, list(arguments), **options)


@pytest.fixture
def connected(am, service, home):
    (home / ".claude").mkdir()
    done = am("connect", "--server", service.url, "--key", "am_owner", "--yes")
    assert done.exit_code == 0, done.output
    return service


def requests_of(service, method):
    return [path for m, path, *_ in service.requests if m == method]


class TestConnect:
    """One command connects the project of this folder."""

    def test_it_makes_a_key_of_the_project_for_the_installed_agents(
        self, connected, home
    ):
        [entry] = connections.read().entries

        assert (entry.project, entry.key, entry.harnesses) == (
            "shop",
            "am_issued",
            ("claude-code",),
        )
        body = next(
            json.loads(b) for m, p, _, b in connected.requests if p == "/api/v1/keys"
        )
        assert (body["role"], body["projects"], body["agent_id"]) == (
            "writer",
            ["p1"],
            entry.agent_id,
        )
        assert "SessionStart" in (home / ".claude/settings.json").read_text()

    def test_it_says_where_the_key_is_and_never_prints_it(self, am, service):
        done = am("connect", "--server", service.url, "--key", "am_owner", "--yes")

        assert str(connections.file_of()) in done.output.replace("\n", "")
        assert "am_issued" not in done.output

    def test_a_no_writes_nothing_and_makes_no_key(self, am, service, home):
        (home / ".codex").mkdir()

        done = am("connect", "--server", service.url, "--key", "am_owner", input="n\n")

        assert done.exit_code == 1
        assert requests_of(service, "POST") == []
        assert list((home / ".codex").iterdir()) == []

    def test_a_second_time_keeps_the_key(self, am, connected):
        am("connect", "--yes")

        assert requests_of(connected, "POST").count("/api/v1/keys") == 1

    def test_a_key_that_may_not_issue_is_used_itself(self, am, service):
        service.answer.may_issue = False

        am("connect", "--server", service.url, "--key", "am_given_by_alice", "--yes")

        [entry] = connections.read().entries
        assert entry.key == "am_given_by_alice"

    def test_a_key_that_was_given_is_not_revoked(self, am, service):
        service.answer.may_issue = False
        am("connect", "--server", service.url, "--key", "am_given_by_alice", "--yes")

        done = am("connect", "--remove", "--yes")

        assert done.exit_code == 0
        assert requests_of(service, "DELETE") == []
        assert connections.read().entries == ()

    @pytest.mark.parametrize(
        ("role", "options"),
        [("curator", []), ("viewer", []), ("writer", ["--read-only"])],
    )
    def test_a_given_key_of_another_role_is_refused(self, am, service, role, options):
        service.answer.may_issue, service.answer.role = False, role
        given = ["--server", service.url, "--key", "am_given_by_alice", "--yes"]

        done = am("connect", *given, *options)

        assert done.exit_code == output.NOT_POSSIBLE
        assert role in done.output
        assert connections.read().entries == ()

    def test_a_key_of_the_environment_replaces_no_usable_one(
        self, am, connected, monkeypatch
    ):
        monkeypatch.setenv("AGENT_MEMORY_KEY", "am_given_by_alice")
        connected.answer.may_issue = False

        am("connect", "--yes")

        assert connections.read().entries[0].key == "am_issued"

    def test_a_given_key_gives_way_to_one_that_a_person_names(
        self, am, service, monkeypatch
    ):
        service.answer.may_issue = False
        am("connect", "--server", service.url, "--key", "am_given_by_alice", "--yes")

        monkeypatch.setenv("AGENT_MEMORY_KEY", "am_given_by_bob")
        am("connect", "--yes")
        assert connections.read().entries[0].key == "am_given_by_alice"
        am("connect", "--key", "am_given_by_bob", "--yes")
        assert connections.read().entries[0].key == "am_given_by_bob"

    def test_an_owners_key_makes_no_second_key(self, am, connected):
        am("connect", "--key", "am_owner", "--yes")

        assert requests_of(connected, "POST").count("/api/v1/keys") == 1

    def test_who_connects_again_after_a_removal_is_the_same_person(self, am, service):
        name = f"am connect, {keys.agent_id_of_this_machine()}"
        ended = {"id": "k9", "name": name, "projects": ["p1"], "role": "writer"}
        service.answer.ended = [ended]

        am("connect", "--server", service.url, "--key", "am_owner", "--yes")

        assert connections.read().entries[0].key == "am_again"
        assert "/api/v1/keys" not in requests_of(service, "POST")

    def test_a_key_that_is_replaced_is_revoked(self, am, connected):
        connected.answer.issued = {**ISSUED, "id": "k2", "secret": "am_second"}

        am("connect", "--key", "am_owner", "--yes", "--read-only")

        assert connections.read().entries[0].key == "am_second"
        assert requests_of(connected, "DELETE") == ["/api/v1/keys/k1"]

    def test_a_key_whose_secret_was_lost_is_revoked(self, am, service):
        service.answer.issued = {**ISSUED, "secret": None}

        done = am("connect", "--server", service.url, "--key", "am_owner", "--yes")

        assert done.exit_code == output.NOT_POSSIBLE
        assert requests_of(service, "DELETE") == ["/api/v1/keys/k1"]

    def test_a_key_that_could_not_be_kept_is_revoked(self, am, service, monkeypatch):
        def refuse(*_):
            raise connections.NotPossible("changed in the meantime")

        monkeypatch.setattr("agent_memory.connect.apply", refuse)

        done = am("connect", "--server", service.url, "--key", "am_owner", "--yes")

        assert done.exit_code == output.NOT_POSSIBLE
        assert requests_of(service, "DELETE") == ["/api/v1/keys/k1"]

    def test_a_path_is_removed_from_any_folder_and_no_other(
        self, am, connected, repository, monkeypatch
    ):
        part = repository / "packages/billing"
        part.mkdir(parents=True)
        monkeypatch.chdir(part)

        done = am("connect", "--remove", "--path", "packages/billing", "--yes")

        assert done.exit_code == output.NOT_POSSIBLE
        assert connections.read().entries[0].path == ""
        am("connect", "--path", "packages/billing", "--key", "am_owner", "--yes")
        am("connect", "--remove", "--path", "packages/billing", "--yes")
        assert [entry.path for entry in connections.read().entries] == [""]

    def test_a_read_only_key_is_a_viewers(self, am, service):
        am(
            "connect",
            "--server",
            service.url,
            "--key",
            "am_owner",
            "--yes",
            "--read-only",
        )

        body = next(
            json.loads(b) for m, p, _, b in service.requests if p == "/api/v1/keys"
        )
        assert body["role"] == "viewer"

    def test_a_remote_server_needs_a_key(self, am, monkeypatch):
        monkeypatch.setattr("agent_memory.command_line._answers", lambda _: True)

        done = am("connect", "--server", "https://memory.example", "--yes")

        assert done.exit_code == output.NOT_POSSIBLE
        assert "--key" in done.output

    def test_a_server_that_is_not_there_is_said(self, am, server):
        server.close()

        done = am("connect", "--server", server.url, "--yes")

        assert done.exit_code == output.NOT_POSSIBLE
        assert "bin/up" in done.output

    @pytest.mark.parametrize("is_stopped", [True, False])
    def test_a_key_of_another_data_folder_is_explained_before_anything_is_asked(
        self, am, service, monkeypatch, home, is_stopped
    ):
        def make_key(_):
            assert not is_stopped, "a stopped data folder is not started for a key"
            return "am_other_database"

        def run_checkout(arguments, data, given):
            revoked.append((arguments[-1], data, given))
            return subprocess.CompletedProcess(arguments, 0)

        revoked = []
        monkeypatch.setattr(keys, "_run_checkout", run_checkout)

        (home / ".codex").mkdir()
        service.answer.is_key_valid = False
        monkeypatch.setattr(keys, "_create_owner_key", make_key)
        monkeypatch.setattr(keys, "locate_data", lambda *_: home / "data")
        pid = home / "data" / keys.POSTGRES_PID
        if not is_stopped:
            pid.parent.mkdir(parents=True)
            pid.touch()

        done = am("connect", "--server", service.url)

        assert done.exit_code == output.NOT_POSSIBLE
        assert "--data" in done.output
        assert "Write this?" not in done.output and "+" not in done.output
        made = (keys.REVOKE_CODE, str(home / "data"), "am_other_database")
        assert revoked == [made] * (not is_stopped)

    def test_no_key_is_made_if_the_data_of_the_service_is_not_known(
        self, am, service, monkeypatch
    ):
        def run_checkout(arguments, data):
            assert keys.LOCATE_CODE in arguments
            words = "embedded.data_folder.EmbeddedError: No service runs on port 8001."
            return subprocess.CompletedProcess(arguments, 1, "", f"Trace\n{words}\n")

        monkeypatch.setattr(keys, "_run_checkout", run_checkout)

        done = am("connect", "--server", service.url)

        assert done.exit_code == output.NOT_POSSIBLE
        assert "No service runs on port 8001. Name its folder" in done.output

    def test_a_given_key_that_is_unknown_is_said_before_anything_is_asked(
        self, am, service, home
    ):
        (home / ".codex").mkdir()
        service.answer.is_key_valid = False

        done = am("connect", "--server", service.url, "--key", "am_old")

        assert done.exit_code == output.FAILED
        assert "No such key." in done.output
        assert "Write this?" not in done.output and "+" not in done.output

    def test_a_key_that_was_made_to_ask_is_revoked_after_a_no(
        self, am, service, monkeypatch, home
    ):
        (home / ".codex").mkdir()
        monkeypatch.setattr(keys, "_create_owner_key", lambda _: "am_given_owner")
        monkeypatch.setattr(keys, "locate_data", lambda *_: None)

        am("connect", "--server", service.url, input="n\n")

        assert requests_of(service, "POST") == []
        assert requests_of(service, "DELETE") == ["/api/v1/keys/k0"]

    def test_each_file_has_a_line_and_no_difference(self, am, service, home):
        for name in (".codex", ".gemini", ".config/opencode/plugins"):
            (home / name).mkdir(parents=True)
        (home / ".gemini/settings.json").write_text("{}")

        done = am("connect", "--server", service.url, "--key", "am_owner", input="n\n")

        for line in (
            "~/.codex/config.toml: 1 MCP server added, a new file",
            "~/.codex/hooks.json: 7 hooks added, a new file",
            "~/.gemini/settings.json: 1 MCP server and 6 hooks added",
            "~/.config/opencode/plugins/agent-memory.js: 1 plugin added, a new file",
        ):
            assert f"  {line}\n" in done.output
        assert "SessionStart" not in done.output

    def test_a_file_of_ours_that_is_there_already_is_replaced(self, am, service, home):
        plugins = home / ".config/opencode/plugins"
        plugins.mkdir(parents=True)
        (plugins / "agent-memory.js").write_text("// older")

        done = am("connect", "--server", service.url, "--key", "am_owner", input="n\n")

        assert "plugins/agent-memory.js: 1 plugin replaced\n" in done.output

    def test_a_file_that_is_as_connected_is_in_place(self, am, connected, home):
        (home / ".claude.json").write_text("{}")

        done = am("connect", "--yes")

        assert "~/.claude.json: 1 MCP server renewed\n" in done.output
        assert "~/.claude/settings.json: 8 hooks in place\n" in done.output

    @pytest.mark.parametrize(
        ("options", "answers", "times"),
        [([], "d\nd\nn\n", 2), (["--diff"], "n\n", 1), ([], "d\n", 1)],
    )
    def test_every_line_is_shown_on_demand(
        self, am, service, home, options, answers, times
    ):
        (home / ".codex").mkdir()
        given = ["--server", service.url, "--key", "am_owner", *options]

        done = am("connect", *given, input=answers)

        assert done.exit_code == 1
        assert done.output.count("+[mcp_servers.agent-memory]") == times
        assert connections.read().entries == ()

    def test_print_writes_nothing(self, am, home):
        done = am("connect", "--print", "codex")

        assert "[mcp_servers.agent-memory]" in done.output
        assert "SessionStart" in done.output
        assert list(home.iterdir()) == []

    def test_print_without_scripts_calls_the_service(self, am, home, repository):
        done = am("connect", "--print", "gemini", "--scriptless", "--project", "shop")

        assert "http://127.0.0.1:8000/mcp/shop" in done.output
        assert "only run commands" in done.output
        assert list(home.iterdir()) == []

    def test_settings_without_scripts_are_only_printed(self, am, home):
        done = am("connect", "--scriptless", "--yes")

        assert done.exit_code == output.NOT_POSSIBLE
        assert "--print" in done.output
        assert list(home.iterdir()) == []

    def test_remove_revokes_the_key_and_leaves_the_home_as_it_was(
        self, am, connected, home
    ):
        done = am("connect", "--remove", "--yes")

        assert done.exit_code == 0
        assert "/api/v1/keys/k1" in requests_of(connected, "DELETE")
        assert list((home / ".claude").iterdir()) == []
        assert not (home / ".claude.json").exists()

    def test_remove_names_the_files_and_what_stays(self, am, connected, home):
        hook_log.add("codex", "prompt", "no answer within 2.5 s")

        done = am("connect", "--remove", "--yes")

        claude = "~/.claude/settings.json (deleted)"
        assert "Claude Code: " in done.output and claude in done.output
        assert "SessionStart" not in done.output
        assert f"stays {hook_log.file()}: which hooks failed" in done.output
        assert "/backups: your agents' files as they were" in done.output
        assert "DELETE /api/v1/projects/p1" in done.output

    def test_remove_leaves_only_what_it_names(self, am, connected, home, tmp_path):
        [entry] = connections.read().entries
        hook.keep_given_files(entry, ["prices.py"])
        (tmp_path / "s.jsonl").write_text("{}\n")
        session = transcript.TranscriptFile(tmp_path / "s.jsonl", "s1", "codex")
        transcript.send_new_part(entry, session)
        assert len(list(entry.state_folder.iterdir())) == 2
        am("connect", "--yes", "--path", "web", "--key", "am_owner")

        am("connect", "--remove", "--yes")
        assert not entry.state_folder.exists()
        assert [each.path for each in connections.read().entries] == ["web"]
        am("connect", "--remove", "--yes", "--path", "web")
        left = [each.name for each in (home / ".config/agent-memory").iterdir()]
        assert left == ["backups"]

    def test_a_hook_that_writes_meanwhile_keeps_no_key_alive(
        self, am, connected, monkeypatch
    ):
        [entry] = connections.read().entries
        hook.keep_given_files(entry, ["prices.py"])
        late = entry.state_folder / "late.json"
        rmdir = os.rmdir

        def write_and_remove(folder, **options):
            late.touch()
            rmdir(folder, **options)

        monkeypatch.setattr(os, "rmdir", write_and_remove)

        done = am("connect", "--remove", "--yes")

        assert late.exists()
        assert done.exit_code == 0, done.output
        assert "/api/v1/keys/k1" in requests_of(connected, "DELETE")

    def test_a_folder_that_is_not_connected_is_named_in_full(self, am, repository):
        assert f"{repository} is not connected" in am("connect", "--remove").output

    def test_remove_shows_the_difference_if_it_is_asked_for(self, am, connected):
        done = am("connect", "--remove", "--diff", input="n\n")

        assert "SessionStart" in done.output
        assert len(connections.read().entries) == 1

    def test_a_folder_of_a_monorepo_is_asked_for(self, am, service, repository):
        (repository / "pnpm-workspace.yaml").write_text("packages: []\n")
        (repository / "packages/billing").mkdir(parents=True)
        options = ["connect", "--server", service.url, "--key", "am_owner"]

        am(*options, input="packages/billing\ny\n")

        assert connections.read().entries[0].path == "packages/billing"


class TestOwnCommand:
    """What a person shall type next is what a person can type."""

    def test_it_has_its_path_where_the_path_has_no_am(self, am, connected):
        done = am("connect", "--key", "am_owner", "--yes")

        assert f"`{AM} doctor` tries it" in done.output.replace("\n", " ")

    def test_it_is_am_where_the_path_has_this_one(self, am, home, monkeypatch):
        (home / "am").symlink_to(AM)
        monkeypatch.setenv("PATH", str(home))

        assert own_command.spell("doctor") == "`am doctor`"

    def test_another_program_of_that_name_is_not_meant(self, am, home, monkeypatch):
        (home / "am").write_text("#!/bin/sh\n")
        (home / "am").chmod(0o755)
        monkeypatch.setenv("PATH", str(home))

        assert own_command.spell("doctor") == f"`{AM} doctor`"

    def test_without_a_checkout_it_is_the_script_that_was_called(
        self, am, home, monkeypatch
    ):
        monkeypatch.setattr(own_command, "CHECKOUT_SCRIPT", home / "gone")
        monkeypatch.setattr(sys, "argv", [str(home / "am")])
        assert own_command.spell("doctor") == "`am doctor`"
        (home / "am").touch()

        assert own_command.spell("doctor") == f"`{home}/am doctor`"


class TestDoctor:
    """Every fault has a mend."""

    def findings(self, am, *options):
        done = am("doctor", "--json", *options)
        answer = json.loads(done.stdout)
        return (
            done.exit_code,
            {row["name"]: row for row in answer["findings"]},
            answer["mended"],
        )

    def test_a_project_that_works_has_no_fault(self, am, connected):
        connected.answer.events = [
            {
                "harness": "claude-code",
                "agent_id": "",
                "last_event": "stop",
                "last_at": "now",
                "events": {"stop": 3},
            }
        ]

        code, found, _ = self.findings(am)

        assert {
            name: row["detail"] for name, row in found.items() if row["status"] != "ok"
        } == {}
        assert code == 0
        assert {
            "server",
            "clock",
            "versions",
            "key",
            "database",
            "claude-code hook",
        } <= set(found)
        assert "agent-memory answers" in found["claude-code mcp"]["detail"]

    def test_it_sends_no_event_of_a_session(self, am, connected):
        self.findings(am)

        assert not any(
            path.startswith("/hooks") for path in requests_of(connected, "POST")
        )

    def test_a_folder_that_is_not_connected_is_told_to_connect(self, am):
        code, found, _ = self.findings(am)

        assert code == output.FAULTS_FOUND
        assert "am connect" in found["connection"]["mend"]

    def test_a_server_that_is_stopped_is_told_to_start(self, am, connected):
        connected.close()

        code, found, _ = self.findings(am)

        assert code == output.FAULTS_FOUND
        assert "bin/up" in found["server"]["mend"]

    def test_a_key_that_is_revoked_is_told_to_connect_again(self, am, connected):
        connected.answer.is_key_valid = False

        _, found, _ = self.findings(am)

        assert found["key"]["status"] == found["claude-code hook"]["status"] == "fault"
        assert "am connect" in found["key"]["mend"]
        assert "401" in found["claude-code hook"]["detail"]

    def test_what_the_service_says_of_itself_is_repeated(self, am, connected):
        connected.answer.checks = {"worker": {"ok": False, "detail": "no worker"}}

        _, found, _ = self.findings(am)

        assert (found["worker"]["status"], found["worker"]["detail"]) == (
            "fault",
            "no worker",
        )
        assert "bin/up" in found["worker"]["mend"]

    def test_a_harness_without_an_event_yet_is_told_to_start_a_session(
        self, am, connected
    ):
        _, found, _ = self.findings(am)

        assert "Start a session" in found["claude-code events"]["mend"]

    def test_settings_and_modes_that_changed_are_fixed(self, am, connected, home):
        (home / ".claude/settings.json").write_text("{}")
        connections.file_of().chmod(0o644)

        code, found, _ = self.findings(am)
        assert code == output.FAULTS_FOUND
        assert found["claude-code"]["can_fix"] and found["key file"]["can_fix"]
        _, found, mended = self.findings(am, "--fix")

        assert len(mended) == 2
        assert found["claude-code"]["status"] == found["key file"]["status"] == "ok"

    def test_a_fix_in_a_folder_below_adds_no_connection(
        self, am, connected, home, repository, monkeypatch
    ):
        (repository / "src").mkdir()
        monkeypatch.chdir(repository / "src")
        (home / ".claude/settings.json").write_text("{}")

        _, found, mended = self.findings(am, "--fix")

        assert len(mended) == 1 and found["claude-code"]["status"] == "ok"
        assert [entry.path for entry in connections.read().entries] == [""]

    def test_connections_that_are_broken_are_said_also_with_fix(self, am, connected):
        connections.file_of().write_text("{")

        code, found, _ = self.findings(am, "--fix")

        assert code == output.FAULTS_FOUND
        assert "Delete" in found["connection"]["mend"]

    def test_a_hook_that_fails_is_seen_with_a_full_log(self, am, connected):
        hook_log.file().write_text('{"at": "", "error": ""}\n' * 1100)
        connected.answer.is_key_valid = False

        _, found, _ = self.findings(am)

        assert found["claude-code hook"]["status"] == "fault"

    def test_trust_is_asked_for_until_an_event_has_come(self, am, connected, home):
        (home / ".codex").mkdir()
        am("connect", "--yes")

        assert "trust it once" in am("doctor").output
        connected.answer.events = [
            {
                "harness": "codex",
                "agent_id": "",
                "last_event": "stop",
                "last_at": "now",
                "events": {"stop": 1},
            }
        ]
        assert "trust it once" not in am("doctor").output

    def test_a_failed_hook_says_what_was_lost(self, am, connected):
        hook_log.add("codex", "session-start", "no answer within 2.5 s")

        _, found, _ = self.findings(am)

        local = datetime.fromisoformat(hook_log.read_newest(1)[0]["at"]).astimezone()
        assert found["hook log"]["detail"] == (
            f"1 hook failed within a day: at {local:%H:%M} session-start of codex got no "
            "answer within 2.5 s: that session started without what the project knows"
        )
        assert "am context" in found["hook log"]["mend"]
        assert "backfill" not in found["hook log"]["mend"]

    def test_a_session_that_was_not_sent_is_told_to_backfill(self, am, connected):
        hook_log.add("codex", "prompt", "no answer within 2.5 s")
        hook_log.add("codex", "stop", "the server answered 500")

        _, found, _ = self.findings(am)

        detail, mend = found["hook log"]["detail"], found["hook log"]["mend"]
        assert "without what the project knows of it; at" in detail
        assert detail.endswith(
            "stop of codex failed (the server answered 500): the session was not sent"
        )
        assert f"`{AM} backfill` sends" in mend

    def test_commits_that_were_not_sent_are_said_to_be_sent_later(self, am, connected):
        hook_log.add("codex", "commits", "git cannot read the commits: fatal: x")

        _, found, _ = self.findings(am)

        detail, mend = found["hook log"]["detail"], found["hook log"]["mend"]
        assert detail.endswith("fatal: x): the next start sends those commits")
        assert "context" not in mend and "backfill" not in mend


class TestBackfill:
    """The sessions on this disk that belong to this project."""

    @pytest.fixture
    def sessions(self, home, repository):
        folder = home / ".claude/projects/-shop"
        folder.mkdir(parents=True)
        row = {
            "type": "user",
            "cwd": str(repository),
            "message": "key sk-aaaaaaaaaaaaaaaaaaaaaaaa",
        }
        for number in range(2):
            name = f"0000000{number}-0000-4000-8000-000000000000.jsonl"
            (folder / name).write_text(json.dumps(row) + "\n")
        (folder / "other.jsonl").write_text(json.dumps({"cwd": "/elsewhere"}) + "\n")
        codex = home / ".codex/sessions/2026/11/26"
        codex.mkdir(parents=True)
        meta = {"type": "session_meta", "payload": {"cwd": str(repository)}}
        name = "rollout-2026-11-26T16-28-15-01a218af-ab41-7e93-b06c-9700f7bfee89.jsonl"
        (codex / name).write_text(json.dumps(meta) + "\n")

    def test_it_shows_them_asks_and_sends_them_once(self, am, connected, sessions):
        done = am("backfill", input="y\n")

        assert done.exit_code == 0, done.output
        assert "claude-code" in done.stdout and "codex" in done.stdout
        assert "6 messages, 3 tasks" in done.stdout
        sent = [
            path for path in requests_of(connected, "POST") if "/transcript" in path
        ]
        assert {path.split("/")[4] for path in sent} == {
            "00000000-0000-4000-8000-000000000000",
            "00000001-0000-4000-8000-000000000000",
            "01a218af-ab41-7e93-b06c-9700f7bfee89",
        }

    def test_those_of_a_connected_folder_inside_are_not_of_the_whole(
        self, am, connected, sessions, home, repository
    ):
        known = connections.read()
        part = known.entries[0]._replace(path="web", project="web", project_id="p2")
        connections.write(known.with_entry(part))
        (repository / "web").mkdir()
        row = json.dumps({"type": "user", "cwd": str(repository / "web")})
        (home / ".claude/projects/-shop/web.jsonl").write_text(f"{row}\n")

        done = am("backfill", "--json")

        assert json.loads(done.stdout)["sessions"] == 3

    def test_a_no_sends_nothing(self, am, connected, sessions):
        am("backfill", input="n\n")

        assert not any("/transcript" in path for path in requests_of(connected, "POST"))

    def test_a_server_that_is_gone_is_said_once(self, am, connected, sessions):
        connected.close()

        done = am("backfill", "--yes")

        assert done.exit_code == output.UNREACHABLE
        assert done.output.count("does not answer") == 1

    def test_one_that_fails_does_not_stop_the_others(self, am, connected, sessions):
        answer = connected.answer.answer

        def fail_for_codex(method, path, body):
            return (500, {}) if "01a218af" in path else answer(method, path, body)

        connected.answer.answer = fail_for_codex

        done = am("backfill", "--json")

        assert done.exit_code == output.FAILED
        result = json.loads(done.stdout)
        assert (result["sessions"], result["messages"], len(result["failed"])) == (
            3,
            4,
            1,
        )


class TestUse:
    """The commands that use the project."""

    def test_a_text_has_no_marks_of_its_own(self, am, connected):
        assert "[bold]are[/bold]" in am("search", "prices").stdout

    def test_an_id_stays_in_one_piece_and_a_text_has_the_whole_width(
        self, am, connected, monkeypatch
    ):
        monkeypatch.setattr(output, "_find_width", lambda: 80)
        long = {
            **MEMORY,
            "id": "01a218f7-1e6a-71df-bfc4-bb3ee32f2c7e",
            "content": "word " * 60 + "\n\nand \x1b[2Jmore",
        }
        hits = {"hits": [{"score": 0.5, "memory": long}]}
        connected.answer.overrides["/search"] = hits

        assert am("search", "prices").stdout.splitlines() == [
            f"{long['id']}  decision  0.50",
            *["  " + " ".join(["word"] * 15)] * 4,
            "",
            "  and [2Jmore",
        ]

    def test_no_field_and_no_name_moves_the_cursor(self, capsys):
        output.print_entries(
            [{"id": "a\x1b[2J\nb", "text": "10\u202f000"}],
            ("id",),
            ("text",),
            as_json=False,
        )
        output.print_fields({"na\x1b[2Jme": {"x\ny": ["\u202eab:key:"]}})
        output.print_rows([{"id": "[bold]\x1bc"}], {"id": "id"}, as_json=False)
        output.say("one:key:\x1b[2J\n\u30002", is_error=True)

        out, err = capsys.readouterr()
        assert [line.rstrip() for line in out.splitlines()] == [
            "a[2J b",
            "  10 000",
            "na[2Jme:",
            "  x y:",
            "    - ab:key:",
            "id",
            "[bold]c",
        ]
        assert err.splitlines() == ["one:key:[2J", " 2"]

    @pytest.mark.parametrize(("is_terminal", "lines"), [(False, 1), (True, 5)])
    def test_only_a_terminal_has_broken_lines(
        self, monkeypatch, capsys, is_terminal, lines
    ):
        monkeypatch.setenv("COLUMNS", "0")  # of an unknown width
        monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)

        output.print_fields({"content": "word " * 70})

        assert len(capsys.readouterr().out.splitlines()) == lines
        assert output.make_console().width > 0

    def test_nested_values_are_indented_lines(self, am, connected):
        delta = {
            "id": "d21",
            "is_risky": False,
            "reason": "",
            "gates": [
                {"name": "atomic", "numbers": {"words": 11}},
                {"name": "foreign", "verdict": "pass"},
            ],
            "tags": ["a", "b"],
            "lineage": {"parents": []},
        }
        connected.answer.overrides["/d21"] = delta

        assert am("inbox", "show", "d2").stdout.splitlines() == [
            "id: d21",
            "is_risky: no",
            "gates:",
            "  - name: atomic",
            "    numbers:",
            "      words: 11",
            "  - name: foreign",
            "    verdict: pass",
            "tags:",
            "  - a",
            "  - b",
        ]

    @pytest.mark.parametrize(
        ("named", "sent"), [("m", "m1"), ("gotchas-00001", "gotchas-00001")]
    )
    def test_a_memory_or_a_rule_is_forgotten(self, am, connected, named, sent):
        done = am("forget", named, "--reason", "It is in cents")

        assert (done.exit_code, done.output.strip()) == (0, "Forgotten.")
        _, path, _, body = connected.requests[-1]
        assert path == "/mcp/p1"
        assert json.loads(body)["params"] == {
            "name": "forget",
            "arguments": {"id": sent, "reason": "It is in cents"},
        }

    def test_a_memory_that_is_not_forgotten_says_why(self, am, connected):
        words = [{"type": "text", "text": "not_found: there is no such memory"}]
        connected.answer.tool_result = {"isError": True, "content": words}

        done = am("forget", "m1")

        assert done.exit_code == output.FAILED
        assert "there is no such memory" in done.output

    def test_json_has_the_answer(self, am, connected):
        assert (
            json.loads(am("search", "prices", "--json").stdout)[0]["memory"] == MEMORY
        )

    def test_a_writer_is_told_which_key_accepts(self, am, connected):
        done = am("inbox", "accept", "d12")

        assert done.exit_code == output.FAILED
        assert "Set AGENT_MEMORY_KEY to a key with the role curator" in done.output
        assert "bin/up" in done.output

    def test_what_is_remembered_is_said_in_words_and_pinned(self, am, connected):
        receipt = {"id": "m1" * 18, "status": "stored", "duplicate_of": None}
        connected.answer.overrides["/api/v1/memories"] = receipt

        done = am("remember", "Prices are in cents.")

        assert "sessions start with it" in done.output
        _, path, _, body = connected.requests[-1]
        assert path == "/api/v1/memories"
        assert json.loads(body)["tags"] == ["pinned"]

    def test_an_empty_inbox_says_so(self, am, connected):
        connected.answer.overrides["/proposals"] = {"results": [], "next": None}

        assert am("inbox").output.strip() == "No proposal waits for a person."

    def test_the_inbox_alone_lists_it(self, am, connected):
        done = am("inbox")

        assert done.exit_code == 0
        assert "Rule d13" in done.output

    def test_the_beginning_of_an_id_is_enough_if_it_is_the_only_one(
        self, am, connected
    ):
        said = am("inbox", "reject", "d2").output.strip()
        assert said == "Rejected: agents are not given it."
        assert "cents" in am("show", "m").output

    def test_a_beginning_that_several_ids_have_decides_nothing(self, am, connected):
        done = am("inbox", "accept", "d1")

        assert done.exit_code == output.NOT_POSSIBLE
        assert "d12, d13" in done.output
        assert not any("accept" in path for path in requests_of(connected, "POST"))

    def test_a_beginning_that_no_id_has_is_said(self, am, connected):
        done = am("show", "x")

        assert done.exit_code == output.NOT_POSSIBLE
        assert "No id begins with 'x'" in done.output

    def test_no_rules_are_said_with_the_proposals_that_wait(self, am, connected):
        assert f"3 proposals wait in the inbox: `{AM} inbox`" in am("rules").output
        del connected.answer.proposals[1:]
        assert f"1 proposal waits in the inbox: `{AM} inbox`" in am("rules").output
        connected.answer.proposals.clear()
        assert am("rules").output.strip() == "No rule is live yet."
        assert json.loads(am("rules", "--json").output) == []

    @pytest.mark.parametrize("command", ["context", "search"])
    def test_words_need_no_quotes(self, am, connected, command):
        done = am(command, "report", "by", "region")

        assert done.exit_code == 0, done.output
        assert json.loads(connected.requests[-1][3])["query"] == "report by region"

    def test_the_time_of_a_session_stays_in_one_piece(self, am, connected, monkeypatch):
        monkeypatch.setattr(output, "_find_width", lambda: 80)
        local = datetime.fromisoformat(SESSION["last_active"]).astimezone()

        assert f"{local:%Y-%m-%d %H:%M}" in am("sessions").output

    def test_the_help_names_the_command(self, monkeypatch, capsys):
        monkeypatch.setattr(sys, "argv", ["/opt/agent_memory/__main__.py", "--help"])

        with pytest.raises(SystemExit):
            command_line.main()

        assert "Usage: am" in capsys.readouterr().out

    def test_a_refusal_is_json_with_json(self, am, connected):
        done = am("show", "01a218f7-1e6a-71df-bfc4-bb3ee32f2c7e", "--json")

        assert json.loads(done.stdout)["error"]["code"] == "not_found"

    def test_a_server_that_is_gone_has_its_own_exit_code(
        self, am, connected, monkeypatch
    ):
        monkeypatch.setattr("agent_memory.client.time.sleep", lambda _: None)
        connected.close()

        assert am("search", "prices").exit_code == output.UNREACHABLE

    def test_a_folder_that_is_not_connected_has_its_own_exit_code(self, am):
        assert am("search", "prices").exit_code == output.NOT_POSSIBLE

    @pytest.mark.parametrize("command", [[], ["inbox"], ["connect"], ["hook"], ["mcp"]])
    def test_each_command_explains_itself(self, am, command):
        assert am(*command, "--help").exit_code == 0


class TestSkills:
    """The playbook as a folder of SKILL.md files."""

    FILES = {"shop-gotchas/SKILL.md": "---\nname: shop-gotchas\n---\n- Lock it.\n"}

    @pytest.fixture
    def exporting(self, connected):
        answer = connected.answer.answer
        told = {"project_id": "p1", "files": self.FILES}

        def answer_skills(method, path, body):
            if path.endswith("/playbook/export"):
                return told
            if path.endswith("/playbook/import"):
                return 201, {"deltas": []}
            return answer(method, path, body)

        connected.answer.answer = answer_skills
        return connected

    def test_an_export_writes_the_folder(self, am, exporting, tmp_path):
        done = am("export", "--skills", str(tmp_path / "out"))

        assert done.exit_code == 0, done.output
        assert "1 skill in" in done.stdout and "1 written, 0 removed." in done.stdout
        assert (tmp_path / "out/shop-gotchas/SKILL.md").read_text() == (
            self.FILES["shop-gotchas/SKILL.md"]
        )

    def test_an_import_sends_the_file(self, am, exporting, tmp_path):
        (tmp_path / "rules.md").write_text("- Lock it.\n")

        done = am("import", str(tmp_path / "rules.md"), "--format", "markdown")

        assert done.exit_code == 0, done.output
        body = json.loads(exporting.requests[-1][3])
        assert (body["format"], body["content"]) == ("markdown", "- Lock it.\n")

    @pytest.mark.parametrize(
        "words",
        [
            ["import"],
            ["import", "--skills", "x"],
            ["import", "x", "--format", "json"],
            ["export", "--format", "json"],
        ],
    )
    def test_what_is_not_offered_is_refused(self, am, exporting, words):
        before = len(exporting.requests)

        assert am(*words).exit_code == 2
        assert len(exporting.requests) == before

    def test_a_file_that_cannot_be_read_is_named(self, am, exporting, tmp_path):
        done = am("import", str(tmp_path / "gone"))

        assert done.exit_code == output.NOT_POSSIBLE
        assert f"{tmp_path / 'gone'}: No such file or directory." in done.output


def test_without_its_packages_the_command_says_how_to_get_them():
    main = Path(agent_memory.__file__).with_name("__main__.py")

    # Without `site`, Python finds no installed package.
    command = [sys.executable, "-S", main, "search", "prices"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.strip().endswith('pip install "agent-memory[cli]"')


class TestBridge:
    """`am mcp` carries messages between a harness and the server."""

    def talk(self, folder, *messages):
        main = Path(agent_memory.__file__).with_name("__main__.py")
        text = "".join(json.dumps(message) + "\n" for message in messages)
        done = subprocess.run(
            [sys.executable, "-S", main, "mcp"],
            input=text,
            capture_output=True,
            text=True,
            cwd=folder,
            env=dict(os.environ),
            check=True,
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_a_message_goes_to_the_project_with_the_key(self, connected, repository):
        [answer] = self.talk(
            repository, {"jsonrpc": "2.0", "id": 7, "method": "initialize"}
        )

        assert answer["id"] == 7 and "result" in answer
        _, path, headers, _ = connected.requests[-1]
        assert (path, headers["Authorization"]) == ("/mcp/p1", "Bearer am_issued")

    def test_the_agreed_protocol_is_named_from_then_on(self, connected, repository):
        calls = [
            {"jsonrpc": "2.0", "id": n, "method": m}
            for n, m in enumerate(["initialize", "tools/list"])
        ]

        self.talk(repository, *calls)

        assert connected.requests[-1][2][mcp.VERSION_HEADER] == "2025-06-18"

    def test_a_folder_that_is_not_connected_is_an_error_in_words(self, home, tmp_path):
        [answer] = self.talk(
            tmp_path, {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
        )

        assert "am connect" in answer["error"]["message"]

    def test_a_notification_has_no_answer(self, home, tmp_path):
        assert (
            self.talk(
                tmp_path, {"jsonrpc": "2.0", "method": "notifications/initialized"}
            )
            == []
        )

    def test_a_request_is_answered_also_if_the_server_is_no_mcp_server(
        self, connection, server
    ):
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        server.answer = lambda *_: (200, {}, {"status": "ok"})

        [answer] = mcp.answer_message(connection, request, "")

        assert answer["id"] == 1 and "no answer of MCP" in answer["error"]["message"]

    def test_only_json_objects_are_messages_and_the_next_line_is_answered(
        self, home, tmp_path
    ):
        lines = [b"hello?\n", b"\xef\xbb\xbf{}\r\n", b"7\n", b"\n", b'{"id": "\xe9"}\n']
        lines += [b'[{"id": 1}, {"id": 2}]\n', '{"id": "\u2028"}'.encode()]

        found = [message.get("id") for message in mcp.read_lines(lines)]

        assert found == [None, None, None, "\ufffd", 1, 2, "\u2028"]
        [answer] = mcp.answer_message(None, {}, "")
        assert (answer["id"], answer["error"]["code"]) == (None, mcp.PARSE_ERROR)

    def test_an_event_stream_is_read(self):
        body = b'event: message\ndata: {"jsonrpc": "2.0", "id": 1}\n\n'
        answer = mcp.exchange.WireAnswer(
            200, {"content-type": "text/event-stream"}, body
        )

        assert list(mcp.read_messages(answer)) == [{"jsonrpc": "2.0", "id": 1}]
