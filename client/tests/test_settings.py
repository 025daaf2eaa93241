"""The files of six harnesses: written, written again, and given back byte by byte."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path

import pytest
from agent_memory import connect, connections, jsonc, keys, settings_edit, toml_table
from agent_memory.connections import Connections, NotPossible
from agent_memory.harnesses import BY_NAME, HARNESSES, HOOK_CODE, Program
from agent_memory.places import Machine

PROGRAM = Program("/opt/py/python", "/opt/agent_memory/__main__.py")
KEY = keys.ConnectionKey("am_secret_of_the_project", "k1", "shop", "p1")

CLAUDE = """\
{
  // my own comment
  "model": "opus", /* and another */
  "hooks": {
    "SessionStart": [
      {"hooks": [{"type": "command", "command": "echo hello"}]},
    ],
    "Stop": []
  },
}
"""
FOREIGN = {
    ".claude.json": '{"numStartups": 4,\t"mcpServers": {"other": {"command": "x"}}}',
    ".claude/settings.json": CLAUDE,
    ".codex/config.toml": '# my model\nmodel = "gpt"  # fast\n\n[mcp_servers.other]\ncommand = "x"',
    ".codex/hooks.json": '{\r\n  "hooks": {}\r\n}\r\n',
    ".copilot/mcp-config.json": '{"mcpServers": {}}\n',
    ".gemini/settings.json": '\n{ "hooks": { "AfterTool": [ ] } , "ui": 1 }',
    ".config/opencode/opencode.jsonc": '{\n  // models\n  "mcp": {},\n}\n',
    ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "y"}]}}',
}


@pytest.fixture
def foreign(home, repository):
    """A home with settings and comments of somebody else, for every harness."""
    for name, text in FOREIGN.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return home


def plan_for(names, repository, known=None, **wish):
    chosen = tuple(BY_NAME[name] for name in names)
    options = {
        "server": "http://s.test",
        "project": "shop",
        "agent_id": "alice@here",
        **wish,
    }
    wanted = connect.ConnectionWish(repository, harnesses=chosen, **options)
    return connect.plan(wanted, known or connections.read(), program=PROGRAM)


def connect_all(names, repository):
    plan = plan_for(names, repository)
    connect.apply(plan, KEY)
    return plan


def snapshot(folder):
    kept = connections.file_of().parent
    files = (p for p in folder.rglob("*") if p.is_file() and kept not in p.parents)
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


@pytest.mark.parametrize("name", BY_NAME)
class TestEachHarness:
    """What holds for all six, on a home with foreign settings and on an empty one."""

    @pytest.fixture(params=["foreign", "empty"])
    def place(self, request, home):
        return (
            request.getfixturevalue("foreign") if request.param == "foreign" else home
        )

    def test_it_is_taken_out_to_the_byte(self, name, place, repository, monkeypatch):
        monkeypatch.setattr(keys, "revoke", lambda *_: "")
        before = snapshot(place), snapshot(repository)

        connect_all([name], repository)
        assert (snapshot(place), snapshot(repository)) != before
        connect.remove(
            connect.plan_removal(repository, connections.read(), program=PROGRAM)
        )

        after = snapshot(place), snapshot(repository)
        assert [
            dict(a.items() ^ b.items()) for a, b in zip(after, before, strict=True)
        ] == [{}, {}]
        assert connections.read() == Connections()

    def test_connecting_again_changes_nothing(self, name, place, repository):
        connect_all([name], repository)
        before = snapshot(place)

        assert connect_all([name], repository).differences == []
        assert snapshot(place) == before

    def test_its_settings_have_the_hooks_and_no_key(self, name, place, repository):
        connect_all([name], repository)

        texts = [*snapshot(place).values(), *snapshot(repository).values()]
        ours = [text.decode() for text in texts if b"/opt/agent_memory" in text]
        assert ours and any("hook" in text for text in ours)
        assert not any(b"am_secret" in text for text in texts)

    def test_the_difference_says_what_is_written(self, name, place, repository):
        differences = "".join(plan_for([name], repository).differences)

        assert "+" in differences and "agent_memory" in differences


def test_settings_that_the_harness_wrote_anew_lose_only_ours(
    foreign, repository, monkeypatch
):
    monkeypatch.setattr(keys, "revoke", lambda *_: "")
    connect_all(["gemini"], repository)
    file = foreign / ".gemini/settings.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"new": True}, indent=4))

    connect.remove(
        connect.plan_removal(repository, connections.read(), program=PROGRAM)
    )

    left = json.loads(file.read_text())
    assert "agent_memory" not in file.read_text()
    assert (left["ui"], left["new"]) == (1, True)


def test_claude_code_reports_a_command_whose_exit_code_a_pipe_hides(home, repository):
    connect_all(["claude-code"], repository)

    hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    [group] = hooks["PostToolUse"]
    assert group["matcher"] == "Bash"
    assert "tool-failed" in group["hooks"][0]["args"]
    assert "matcher" not in hooks["PostToolUseFailure"][0]


def disconnect(repository):
    connect.remove(
        connect.plan_removal(repository, connections.read(), program=PROGRAM)
    )


class TestForeignSettings:
    """What is not ours stays, and stays readable."""

    @pytest.fixture(autouse=True)
    def no_server(self, monkeypatch):
        monkeypatch.setattr(keys, "revoke", lambda *_: "")

    @pytest.fixture
    def file(self, home):
        path = home / ".claude/settings.json"
        path.parent.mkdir()
        return path

    def test_a_key_that_came_behind_ours_is_left_readable(self, file, repository):
        file.write_text("{\n}\n")
        connect_all(["claude-code"], repository)
        text = file.read_text().rstrip().removesuffix("}").rstrip()
        file.write_text(f'{text},\n  "model": "opus"\n}}\n')

        disconnect(repository)

        assert json.loads(file.read_text()) == {"model": "opus"}

    def test_a_text_that_would_be_no_json_is_refused(
        self, file, repository, monkeypatch
    ):
        file.write_text("{\n}\n")
        connect_all(["claude-code"], repository)
        before = file.read_text()
        monkeypatch.setattr(settings_edit, "remove_from", lambda *_: "{,}")

        with pytest.raises(NotPossible, match="readable"):
            disconnect(repository)

        assert file.read_text() == before

    def test_a_hook_that_only_names_us_stays(self, file, repository):
        theirs = {"type": "command", "command": "pytest tests/agent_memory/__main__.py"}
        file.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [theirs]}]}}))

        connect_all(["claude-code"], repository)

        groups = json.loads(file.read_text())["hooks"]["Stop"]
        assert [group["hooks"][0] for group in groups].count(theirs) == 1

    def test_a_hook_beside_ours_in_a_group_stays(self, file, repository):
        theirs = {"type": "command", "command": "say done"}
        connect_all(["claude-code"], repository)
        settings = json.loads(file.read_text())
        settings["hooks"]["Stop"][0]["hooks"].append(theirs)
        file.write_text(json.dumps(settings, indent=4))

        disconnect(repository)

        left = json.loads(file.read_text())
        assert left == {"hooks": {"Stop": [{"hooks": [theirs]}]}}

    def test_hooks_whose_record_is_lost_are_not_doubled(self, file, repository):
        connect_all(["claude-code"], repository)
        before = json.loads(file.read_text())
        connections.file_of().unlink()

        connect_all(["claude-code"], repository)

        assert json.loads(file.read_text()) == before

    @pytest.fixture
    def codex(self, home):
        path = home / ".codex/config.toml"
        path.parent.mkdir()
        path.write_text('model = "gpt"\n')
        return path

    def test_a_table_that_codex_added_changes_nothing(self, codex, repository):
        connect_all(["codex"], repository)
        codex.write_text(codex.read_text() + '\n[projects."/shop"]\ntrusted = true\n')

        assert plan_for(["codex"], repository).differences == []

    def test_what_codex_keeps_of_our_tools_goes_with_them(self, codex, repository):
        connect_all(["codex"], repository)
        text = codex.read_text()
        ours = '\n[mcp_servers.agent-memory.tools.search]\napproval_mode = "approve"\n'
        codex.write_text(f"{text}{ours}\n# my screen\n  [tui]\n  theme = 1\n")

        disconnect(repository)

        assert tomllib.loads(codex.read_text()) == {"model": "gpt", "tui": {"theme": 1}}
        assert "# my screen" in codex.read_text()

    def test_a_server_of_the_same_name_is_not_ours_to_replace(self, codex, repository):
        codex.write_text('[mcp_servers.agent-memory]\ncommand = "theirs"\n')

        with pytest.raises(NotPossible, match="--print codex"):
            plan_for(["codex"], repository)


def test_a_second_project_shares_the_files_until_the_last_one_goes(
    home, repository, tmp_path, monkeypatch
):
    monkeypatch.setattr(keys, "revoke", lambda *_: "")
    other = tmp_path / "other"
    other.mkdir()
    for folder in (repository, other):
        connect_all(["claude-code"], folder)

    connect.remove(
        connect.plan_removal(repository, connections.read(), program=PROGRAM)
    )
    assert (home / ".claude/settings.json").exists()
    connect.remove(connect.plan_removal(other, connections.read(), program=PROGRAM))

    assert not (home / ".claude/settings.json").exists()


def test_a_file_that_is_not_understood_is_left_alone(home, repository):
    file = home / ".claude/settings.json"
    file.parent.mkdir()
    file.write_text("{ not json")

    with pytest.raises(NotPossible, match="--print claude-code"):
        plan_for(["claude-code"], repository)

    assert file.read_text() == "{ not json"


def test_what_was_there_is_backed_up_for_its_owner_only(foreign, repository):
    connect_all(["claude-code"], repository)

    copies = list((connections.file_of().parent / "backups").rglob("*settings.json"))
    assert [copy.read_text() for copy in copies] == [CLAUDE]
    assert stat.S_IMODE(copies[0].stat().st_mode) == 0o600


def test_what_was_written_since_the_plan_is_not_lost(foreign, repository):
    plan = plan_for(["claude-code"], repository)
    file = foreign / ".claude/settings.json"
    file.write_text('{"mine": 1}')

    with pytest.raises(NotPossible, match="in the meantime"):
        connect.apply(plan, KEY)

    assert file.read_text() == '{"mine": 1}'
    assert connections.read() == Connections()


def test_what_was_written_since_the_plan_of_a_removal_is_not_lost(foreign, repository):
    connect_all(["claude-code"], repository)
    removal = connect.plan_removal(repository, connections.read(), program=PROGRAM)
    (foreign / ".claude/settings.json").write_text('{"mine": 1}')

    with pytest.raises(NotPossible, match="in the meantime"):
        connect.remove(removal)

    assert (foreign / ".claude/settings.json").read_text() == '{"mine": 1}'
    assert connections.read().entries


def test_a_connection_that_another_command_made_stays(home, repository, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    plan = plan_for([], repository)
    connect_all([], other)

    connect.apply(plan, KEY)
    removal = connect.plan_removal(repository, connections.read(), program=PROGRAM)
    connections.write(connections.read().without(connections.read().entries[0]))

    assert len(removal.known.entries) == 2
    with pytest.raises(NotPossible, match="Another command"):
        connect.remove(removal)


def test_a_private_file_is_private_at_every_moment(home, repository, monkeypatch):
    file = home / ".claude.json"
    file.write_text("{}")
    file.chmod(0o640)
    modes = []
    chmod = Path.chmod
    monkeypatch.setattr(
        Path,
        "chmod",
        lambda path, mode: (
            modes.append(stat.S_IMODE(path.stat().st_mode)),
            chmod(path, mode),
        ),
    )

    connect_all(["claude-code"], repository)

    assert set(modes) == {0o600}
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_write_that_fails_leaves_nothing_beside(home, repository, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    plan = plan_for(["claude-code"], repository)
    monkeypatch.setattr(Path, "replace", fail)

    with pytest.raises(OSError, match="disk full"):
        settings_edit.write(plan.edits[0])

    assert list(home.iterdir()) == []


def test_a_link_to_the_settings_stays_a_link(home, repository, tmp_path):
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").symlink_to(real)

    connect_all(["claude-code"], repository)

    assert (home / ".claude/settings.json").is_symlink()
    assert "SessionStart" in real.read_text()


def test_a_connection_that_only_reads_leaves_the_hooks_of_the_others(
    home, repository, tmp_path
):
    connect_all(["claude-code"], repository)
    other = tmp_path / "other"
    other.mkdir()

    plan = plan_for(["claude-code"], other, is_read_only=True)

    assert plan.differences == []


def test_the_key_is_private_and_in_one_file(home, repository):
    connect_all([h.name for h in HARNESSES], repository)

    file = connections.file_of()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert connections.read().entries[0].key == KEY.secret


def test_a_key_is_never_kept_inside_a_repository(home, repository, monkeypatch):
    monkeypatch.setenv("AGENT_MEMORY_HOME", str(repository / "keys"))

    with pytest.raises(NotPossible, match="inside the git repository"):
        plan_for(["claude-code"], repository)


def test_a_link_into_a_repository_is_no_way_around(home, repository):
    (repository / "config").mkdir()
    (home / ".config").symlink_to(repository / "config")

    with pytest.raises(NotPossible, match="inside the git repository"):
        plan_for(["claude-code"], repository)


def test_a_removal_from_a_file_that_is_not_understood_is_refused(home, repository):
    connect_all(["claude-code"], repository)
    (home / ".claude/settings.json").write_text("{ not json")

    with pytest.raises(NotPossible, match="the key still works"):
        connect.plan_removal(repository, connections.read(), program=PROGRAM)


def test_only_installed_harnesses_are_chosen(home):
    (home / ".codex").mkdir()

    chosen = connect.choose_harnesses(
        [], Machine({"HOME": str(home), "PATH": ""}, "linux")
    )

    assert [harness.name for harness in chosen] == ["codex"]


def test_an_unknown_harness_is_refused_with_the_known_ones():
    with pytest.raises(NotPossible, match="claude-code, codex"):
        connect.choose_harnesses(["claud"], Machine({}, "linux"))


class TestWindows:
    """Paths and command lines of Windows, without Windows."""

    @pytest.fixture
    def machine(self):
        return Machine(
            {
                "USERPROFILE": r"C:\Users\Al Ice",
                "APPDATA": r"C:\Users\Al Ice\AppData\Roaming",
            },
            "win32",
        )

    def test_the_settings_are_below_the_profile(self, machine):
        path = BY_NAME["claude-code"].hook_file.path(machine, Path())

        assert str(path) == r"C:\Users\Al Ice\.claude\settings.json"

    def test_the_keys_are_in_the_roaming_folder(self, machine):
        assert machine.data == r"C:\Users\Al Ice\AppData\Roaming\agent-memory"

    @pytest.fixture
    def program(self):
        return Program(r"C:\Al Ice\python.exe", r"C:\am\__main__.py", is_windows=True)

    def hook_of(self, name, program):
        value = BY_NAME[name].hook_entries(program)[0].value
        return value.get("hooks", [value])[0]

    def test_claude_code_starts_the_program_without_a_shell(self, program):
        hook = self.hook_of("claude-code", program)

        assert hook["command"] == r"C:\Al Ice\python.exe"
        assert hook["args"][-5:-2] == [
            r"C:\am\__main__.py",
            "hook",
            "session-start",
        ]

    def test_codex_has_a_line_that_cmd_does_not_cut(self, program):
        assert self.hook_of("codex", program)["command"] == (
            rf'call "C:\Al Ice\python.exe" -I -S -c "{HOOK_CODE}" '
            r"C:\am\__main__.py hook session-start --harness codex"
        )

    @pytest.mark.parametrize(
        ("name", "key"), [("gemini", "command"), ("copilot", "powershell")]
    )
    def test_powershell_calls_the_quoted_program(self, program, name, key):
        line = self.hook_of(name, program)[key]

        assert line.startswith(
            rf"& 'C:\Al Ice\python.exe' '-I' '-S' '-c' '{HOOK_CODE}' 'C:\am\__main__.py' 'hook'"
        )

    def test_no_shell_reads_a_sign_of_the_code(self):
        assert not set(HOOK_CODE) & set("'\"`$%!^&|<>\\\n")

    def test_a_quote_in_a_path_stays_in_its_word(self):
        program = Program("/home/al's/python", "/am.py")

        assert "'/home/al'\"'\"'s/python'" in self.hook_of("copilot", program)["bash"]
        assert "'/home/al''s/python'" in self.hook_of("copilot", program)["powershell"]


class TestJson:
    """JSON with comments is edited as a text."""

    def put(self, text, keys, value, *, is_element=False):
        edit = jsonc.put(text, keys, value, is_element=is_element)
        assert edit.text.replace(edit.snippet, "") == text
        return edit.text

    def test_a_value_comes_into_an_empty_object(self):
        assert json.loads(self.put("{}", ["a", "b"], 1)) == {"a": {"b": 1}}

    def test_a_value_comes_beside_others(self):
        assert json.loads(self.put('{"a": {"x": 2}}', ["a", "b"], 1)) == {
            "a": {"b": 1, "x": 2}
        }

    def test_an_element_comes_before_others(self):
        made = self.put('{"a": [2]}', ["a"], 1, is_element=True)

        assert json.loads(made) == {"a": [1, 2]}

    def test_a_bracket_in_a_comment_or_a_text_is_no_bracket(self):
        text = '{ // }\n "a": "}]", /* { */ "b": {}}'

        assert '"c": 1' in self.put(text, ["b", "c"], 1)

    @pytest.mark.parametrize(
        "text", ["", "[", '{"a" 1}', '{"a": [1}', "nonsense", '{"a": 1']
    )
    def test_what_is_no_json_is_refused(self, text):
        with pytest.raises(jsonc.NotJson):
            jsonc.put(text, ["b"], 1, is_element=False)

    @pytest.mark.parametrize("text", ["{,}", "[1,,]", '{"a" 1}', "{1: 2}", "[1] 2"])
    def test_what_no_program_reads_is_no_json(self, text):
        with pytest.raises(jsonc.NotJson):
            jsonc.load(text)

    def test_comments_and_last_commas_are_read(self):
        text = '// mine\n{"a": [1, /* , */ 2,], "b": "// text",}'

        assert jsonc.load(text) == {"a": [1, 2], "b": "// text"}

    @pytest.mark.parametrize(
        ("text", "left"),
        [
            ('{"ours": 1, // mine\n "b": 2}', '{// mine\n "b": 2}'),
            ('{"ours": 1 /* mine */, "b": 2}', '{ /* mine */"b": 2}'),
            ('{"a": 1, // mine\n "ours": 1}', '{"a": 1 // mine\n }'),
            ('{\n  // mine\n  "ours": 1\n}', "{\n  // mine\n  \n}"),
            ('{"a": 1,\n  "ours": 1\n}', '{"a": 1\n}'),
        ],
    )
    def test_a_comment_beside_ours_stays(self, text, left):
        assert jsonc.take(text, ["ours"], lambda _: True) == left

    def test_another_form_is_refused(self):
        with pytest.raises(jsonc.NotJson, match="hooks has another form"):
            jsonc.put('{"hooks": 3}', ["hooks", "Stop"], 1, is_element=True)


class TestToml:
    """A table at the end of a TOML file."""

    @pytest.mark.parametrize("text", ["", "a = 1", "a = 1\n", "# c\r\n[b]\r\n"])
    def test_it_is_read_back_and_leaves_the_rest(self, text):
        edit = toml_table.put(
            text, ("m", "x"), {"command": 'a "b"', "args": ["ü", "c"]}
        )

        assert tomllib.loads(edit.text)["m"]["x"] == {
            "command": 'a "b"',
            "args": ["ü", "c"],
        }
        assert edit.text.removesuffix(edit.snippet) == text

    def test_a_table_in_another_form_is_refused(self):
        with pytest.raises(toml_table.NotToml):
            toml_table.put("m = {x = 1}\n", ("m", "x"), {"command": "a"})

    def test_a_table_that_moved_is_taken_out(self):
        text = 'a = 1\n[m.x]\ncommand = "y"\n\n[z]\nb = 2\n'

        assert toml_table.take(text, ("m", "x")) == "a = 1\n[z]\nb = 2\n"

    def test_a_comment_before_the_next_table_stays(self):
        text = '[m.x]\ncommand = "y"\n# screen\n  [tui]\n  b = 2\n'

        assert toml_table.take(text, ("m", "x")) == "# screen\n  [tui]\n  b = 2\n"


def test_a_settings_file_in_latin_1_is_refused(home, repository):
    file = home / ".claude/settings.json"
    file.parent.mkdir()
    file.write_bytes(b'{"a": "\xe4"}')

    with pytest.raises(NotPossible, match="cannot be read"):
        settings_edit.read_text(file)
