"""The coding agents that `am connect` knows: one description for each.

Where a harness keeps its settings, how it names its events, and the form of an entry for an
MCP server and for a hook. Everything else is the same for all.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_memory import scriptless
from agent_memory.places import Machine
from agent_memory.scriptless import KEY_VARIABLE, SERVER, TIMEOUT, ProjectAddress

# Runs the file that follows it as a hook. A harness reads exit code 2, with which Python ends
# if a file is missing, as "block what the user asked": here every error ends with 0. It has
# no quote and no percent sign, so that each shell takes it as it is.
HOOK_CODE = (
    "import os,sys;sys.excepthook=lambda *_:os._exit(0);"
    "sys.path.insert(0,os.path.dirname(os.path.dirname(sys.argv.pop(1))));"
    "from agent_memory.__main__ import main;main()"
)


@dataclass(frozen=True)
class Program:
    """The Python and the file that are `am`: they need no PATH, and no installation."""

    python: str
    file: str
    is_windows: bool = False

    @property
    def words(self) -> list[str]:
        # Without `site` Python starts faster; hooks and the bridge use the library only.
        return [self.python, "-S", self.file]

    def hook_words(self, event: str, harness: str) -> list[str]:
        # `-I`: the folder that the agent works in is no place to import from.
        start = [self.python, "-I", "-S", "-c", HOOK_CODE, self.file]
        return [*start, "hook", event, "--harness", harness]

    def is_run_by(self, value: Any) -> bool:
        """Whether an entry of settings runs this program, as a hook or as the MCP server."""
        forms = {self.file, shlex.quote(self.file), self.file.replace("'", "''")}
        file = "|".join(re.escape(form) for form in sorted(forms))
        pattern = rf"(?<![\w/\\.:-])(?:{file})['\"]? ['\"]?(?:hook|mcp)(?!\w)"
        return re.search(pattern, " ".join(_find_texts(value))) is not None


def _find_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _find_texts(inner)


def write_cmd(words: list[str]) -> str:
    """Write a line for `cmd /C`, which drops the quotes of a line that begins with one."""
    line = subprocess.list2cmdline(words)
    return f"call {line}" if line.startswith('"') else line


def write_powershell(words: list[str]) -> str:
    """Write a line for PowerShell, which calls a quoted word only after `&`."""
    return "& " + " ".join("'" + word.replace("'", "''") + "'" for word in words)


@dataclass(frozen=True)
class SettingsFile:
    """A file of a harness: below the folder that a variable names, or below the home.

    The first of `names` that exists is used, or else the first. `is_ours`: the whole file
    is written by us. `in_project`: it is in the work tree.
    """

    default: str
    names: tuple[str, ...]
    variable: str = ""
    is_ours: bool = False
    in_project: bool = False

    def path(self, machine: Machine, root: Path) -> Path:
        folder = str(root) if self.in_project else self._folder(machine)
        paths = [Path(machine.join(folder, name)) for name in self.names]
        return next((path for path in paths if path.exists()), paths[0])

    def _folder(self, machine: Machine) -> str:
        return machine.folder_of(self.variable, self.default)


@dataclass(frozen=True)
class Entry:
    """A piece of settings: a value at a path of keys, or a new element of the array there."""

    keys: tuple[str, ...]
    value: Any
    is_element: bool = False


def write_exec(program: Program, harness: CodingAgent, event: str) -> dict[str, Any]:
    """The form of Claude Code that starts a program without a shell."""
    words = program.hook_words(event, harness.name)
    hook = {
        "type": "command",
        "command": words[0],
        "args": words[1:],
        "timeout": TIMEOUT,
    }
    return {"hooks": [hook]}


def write_group(program: Program, harness: CodingAgent, event: str) -> dict[str, Any]:
    """The form of Codex and Gemini CLI: a line of the shell that the harness uses."""
    hook = {
        "type": "command",
        "command": write_line(program, harness, event),
        "timeout": TIMEOUT * harness.timeout_unit,
    }
    return {"hooks": [hook]}


def write_flat(program: Program, harness: CodingAgent, event: str) -> dict[str, Any]:
    """The form of Cursor."""
    return {"command": write_line(program, harness, event), "timeout": TIMEOUT}


def write_line(program: Program, harness: CodingAgent, event: str) -> str:
    words = program.hook_words(event, harness.name)
    return harness.windows_line(words) if program.is_windows else shlex.join(words)


def write_two_shells(
    program: Program, harness: CodingAgent, event: str
) -> dict[str, Any]:
    """The form of Copilot CLI: a line for each shell."""
    words = program.hook_words(event, harness.name)
    return {
        "type": "command",
        "bash": shlex.join(words),
        "powershell": write_powershell(words),
        "timeoutSec": TIMEOUT,
    }


def write_command(program: Program) -> dict[str, Any]:
    return {"command": program.words[0], "args": [*program.words[1:], "mcp"]}


def write_stdio(program: Program) -> dict[str, Any]:
    return {"type": "stdio", **write_command(program)}


def write_local(program: Program) -> dict[str, Any]:
    return {"type": "local", **write_command(program), "tools": ["*"]}


def write_list(program: Program) -> dict[str, Any]:
    """The form of OpenCode: the command and its arguments are one list."""
    return {"type": "local", "command": [*program.words, "mcp"], "enabled": True}


# OpenCode has no hooks in its settings; a plugin is a module that it loads by itself. Its
# function `hook` runs `am`, or calls the service.
RUN_AM = """\
// Written by `am connect`, and removed by `am connect --remove`.
const AM = %s;

async function hook(event, payload) {
  try {
    const process = Bun.spawn([...AM, "hook", event, "--harness", "opencode"], {
      stdin: new Blob([JSON.stringify(payload)]), stdout: "pipe", stderr: "ignore",
    });
    return JSON.parse(await new Response(process.stdout).text()).additionalContext ?? "";
  } catch (error) {
    return ""; // am writes its own log
  }
}
"""
CALL_SERVICE = """\
const HOOK = %s;
const KEY = process.env.%s;

async function hook(event, payload) {
  try {
    const answer = await fetch(HOOK + "&event=" + event, {
      method: "POST", body: JSON.stringify(payload), signal: AbortSignal.timeout(%d),
      headers: { "Authorization": "Bearer " + KEY, "Content-Type": "application/json" },
    });
    return (await answer.json()).additionalContext ?? "";
  } catch (error) {
    return ""; // the agent goes on without it
  }
}
"""
PLUGIN = """\
%s
const EVENTS = {
  "session.created": "session-start",
  "session.idle": "stop",
  "session.deleted": "session-end",
};

export const AgentMemory = async ({ directory }) => {
  const waiting = new Map(); // texts for the next message of a session
  const add = (session, text) => {
    if (text) waiting.set(session, [...(waiting.get(session) ?? []), text]);
  };
  return {
    "chat.message": async (input, output) => {
      const payload = { type: "chat.message", directory, input, output };
      add(input.sessionID, await hook("prompt", payload));
      for (const text of waiting.get(input.sessionID) ?? []) {
        output.parts.push({
          id: "prt_" + crypto.randomUUID().replaceAll("-", ""), sessionID: input.sessionID,
          messageID: output.message.id, type: "text", text, synthetic: true,
        });
      }
      waiting.delete(input.sessionID);
    },
    event: async ({ event }) => {
      const { info, part, sessionID } = event.properties ?? {};
      const { status, metadata } = part?.state ?? {};
      const failed = part?.type === "tool"
        && (status === "error" || (status === "completed" && metadata?.exit > 0));
      const name = EVENTS[event.type] ?? (failed ? "tool-failed" : "");
      if (!name) return;
      const text = await hook(name, { ...event, directory });
      add(sessionID ?? part?.sessionID ?? info?.id, text);
    },
  };
};
"""


@dataclass(frozen=True)
class CodingAgent:
    """A coding agent; `events` maps its events to ours, and `matchers` to their tools.

    The `remote` forms call a service without a program of ours. A harness whose hooks can
    only run commands has no `remote_hook`; the plugin of OpenCode needs none.
    """

    name: str
    title: str
    program: str
    mcp_file: SettingsFile
    mcp_keys: tuple[str, ...]
    mcp_value: Callable[[Program], dict[str, Any]]
    remote_mcp: Callable[[ProjectAddress], dict[str, Any]]
    hook_file: SettingsFile
    remote_hook: Callable[[ProjectAddress, str], dict[str, Any] | None] | None = None
    events: Mapping[str, str] = field(default_factory=dict)
    hook_value: Callable[[Program, CodingAgent, str], dict[str, Any]] = write_group
    hook_head: Mapping[str, Any] = field(
        default_factory=dict
    )  # beside "hooks" in a new file
    matchers: Mapping[str, str] = field(default_factory=dict)
    windows_line: Callable[[list[str]], str] = write_cmd
    timeout_unit: int = 1  # of a second
    transcripts: str = ""  # where its sessions are: a pattern below the home
    note: str = ""  # what the person has to do once
    remote_note: str = (
        ""  # what is otherwise if the harness calls the service by itself
    )

    def is_installed(self, machine: Machine) -> bool:
        """Whether its program is on the PATH, or it has left its folder in the home."""
        path = machine.environment.get("PATH")
        folder = self.hook_file.path(machine, Path()).parent
        is_own = str(folder) not in (machine.home, machine.config)
        return bool(shutil.which(self.program, path=path)) or (
            is_own and folder.is_dir()
        )

    @property
    def has_remote_hooks(self) -> bool:
        return self.remote_hook is not None or not self.events

    def mcp_entry(self, source: Program | ProjectAddress) -> Entry:
        if isinstance(source, ProjectAddress):
            return Entry(self.mcp_keys, self.remote_mcp(source))
        return Entry(self.mcp_keys, self.mcp_value(source))

    def hook_entries(self, source: Program | ProjectAddress) -> list[Entry]:
        """The hooks, the same for all projects: a connection that only reads is known later."""
        return [
            Entry(
                ("hooks", theirs), {**self._matcher(theirs), **value}, is_element=True
            )
            for theirs, ours in self.events.items()
            if (value := self._write_hook(source, ours))
        ]

    def _write_hook(
        self, source: Program | ProjectAddress, event: str
    ) -> dict[str, Any] | None:
        if not isinstance(source, ProjectAddress):
            return self.hook_value(source, self, event)
        return self.remote_hook(source, event) if self.remote_hook else None

    def _matcher(self, event: str) -> dict[str, str]:
        return {"matcher": self.matchers[event]} if event in self.matchers else {}

    def own_file(self, source: Program | ProjectAddress) -> str:
        """The text of a hook file that is wholly ours."""
        if not self.events:
            return PLUGIN % self._write_plugin_hook(source)
        entries = self.hook_entries(source)
        hooks = {entry.keys[-1]: [entry.value] for entry in entries}
        return json.dumps({**self.hook_head, "hooks": hooks}, indent=2) + "\n"

    def _write_plugin_hook(self, source: Program | ProjectAddress) -> str:
        if not isinstance(source, ProjectAddress):
            return RUN_AM % json.dumps(source.words)
        url = json.dumps(source.hook_url(self.name))
        return CALL_SERVICE % (url, KEY_VARIABLE, TIMEOUT * 1000)


HARNESSES = (
    CodingAgent(
        name="claude-code",
        title="Claude Code",
        program="claude",
        mcp_file=SettingsFile("", (".claude.json",), "CLAUDE_CONFIG_DIR"),
        mcp_keys=("mcpServers", SERVER),
        mcp_value=write_stdio,
        remote_mcp=scriptless.write_http_server,
        remote_hook=scriptless.write_claude_hook,
        hook_file=SettingsFile(".claude", ("settings.json",), "CLAUDE_CONFIG_DIR"),
        events={
            "SessionStart": "session-start",
            "UserPromptSubmit": "prompt",
            "PostToolUseFailure": "tool-failed",
            # `make test | tail` ends with 0 also if it fails; the server reads the result.
            "PostToolUse": "tool-failed",
            "SubagentStart": "subagent-start",
            "PreCompact": "pre-compact",
            "Stop": "stop",
            "SessionEnd": "session-end",
        },
        matchers={"PostToolUse": "Bash"},
        hook_value=write_exec,
        transcripts=".claude/projects/*/*.jsonl",
        remote_note="Claude Code calls no address at the start of a session: what a session "
        "starts with comes with its first prompt.",
    ),
    CodingAgent(
        name="codex",
        title="Codex",
        program="codex",
        mcp_file=SettingsFile(".codex", ("config.toml",), "CODEX_HOME"),
        mcp_keys=("mcp_servers", SERVER),
        mcp_value=write_command,
        remote_mcp=scriptless.write_token_variable,
        remote_hook=scriptless.write_codex_hook,
        hook_file=SettingsFile(".codex", ("hooks.json",), "CODEX_HOME"),
        events={
            "SessionStart": "session-start",
            "UserPromptSubmit": "prompt",
            # Codex has no event of a failure; the server looks at the result of a command.
            "PostToolUse": "tool-failed",
            "SubagentStart": "subagent-start",
            "PreCompact": "pre-compact",
            "Stop": "stop",
            "SessionEnd": "session-end",
        },
        matchers={"PostToolUse": "Bash"},
        transcripts=".codex/sessions/*/*/*/*.jsonl",
        note="Codex runs a new hook only after you trust it once: open Codex and type /hooks.",
    ),
    CodingAgent(
        name="copilot",
        title="Copilot CLI",
        program="copilot",
        mcp_file=SettingsFile(".copilot", ("mcp-config.json",), "COPILOT_HOME"),
        mcp_keys=("mcpServers", SERVER),
        mcp_value=write_local,
        remote_mcp=scriptless.write_http_tools,
        remote_hook=scriptless.write_copilot_hook,
        hook_file=SettingsFile(
            ".copilot", ("hooks/agent-memory.json",), "COPILOT_HOME", is_ours=True
        ),
        events={
            "sessionStart": "session-start",
            "userPromptSubmitted": "prompt",
            # A command of the shell that fails is a call that succeeds: its text says so.
            "postToolUse": "tool-failed",
            "postToolUseFailure": "tool-failed",
            "subagentStart": "subagent-start",
            "preCompact": "pre-compact",
            "agentStop": "stop",
            "sessionEnd": "session-end",
        },
        hook_value=write_two_shells,
        hook_head={"version": 1},
        transcripts=".copilot/session-state/*/events.jsonl",
        remote_note="Copilot CLI calls only an address that begins with https.",
    ),
    CodingAgent(
        name="gemini",
        title="Gemini CLI",
        program="gemini",
        mcp_file=SettingsFile("", (".gemini/settings.json",), "GEMINI_CLI_HOME"),
        mcp_keys=("mcpServers", SERVER),
        mcp_value=write_command,
        remote_mcp=scriptless.write_http_url,
        hook_file=SettingsFile("", (".gemini/settings.json",), "GEMINI_CLI_HOME"),
        events={
            "SessionStart": "session-start",
            "BeforeAgent": "prompt",
            "AfterTool": "tool-failed",
            "PreCompress": "pre-compact",
            "AfterAgent": "stop",
            "SessionEnd": "session-end",
        },
        matchers={"AfterTool": "run_shell_command"},
        windows_line=write_powershell,
        timeout_unit=1000,
        transcripts=".gemini/tmp/*/chats/session-*.json*",
    ),
    CodingAgent(
        name="opencode",
        title="OpenCode",
        program="opencode",
        mcp_file=SettingsFile(
            ".config",
            ("opencode/opencode.json", "opencode/opencode.jsonc"),
            "XDG_CONFIG_HOME",
        ),
        mcp_keys=("mcp", SERVER),
        mcp_value=write_list,
        remote_mcp=scriptless.write_remote,
        hook_file=SettingsFile(
            ".config",
            ("opencode/plugins/agent-memory.js",),
            "XDG_CONFIG_HOME",
            is_ours=True,
        ),
    ),
    CodingAgent(
        name="cursor",
        title="Cursor",
        program="cursor",
        # The entry has no key, and only one in the project knows the project's folder.
        mcp_file=SettingsFile("", (".cursor/mcp.json",), in_project=True),
        mcp_keys=("mcpServers", SERVER),
        mcp_value=write_command,
        remote_mcp=scriptless.write_url,
        hook_file=SettingsFile("", (".cursor/hooks.json",)),
        events={
            "sessionStart": "session-start",
            "beforeSubmitPrompt": "prompt",
            "postToolUseFailure": "tool-failed",
            "subagentStart": "subagent-start",
            "preCompact": "pre-compact",
            "stop": "stop",
            "sessionEnd": "session-end",
        },
        hook_value=write_flat,
        hook_head={"version": 1},
    ),
)
BY_NAME = {harness.name: harness for harness in HARNESSES}
