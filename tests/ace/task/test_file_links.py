from __future__ import annotations

import pytest

from ace.task import file_links, file_paths, task


def links(*calls, result="", feedback=""):
    """Links as {path: relation} of calls given as (tool, arguments, result)."""
    found = raw_links(*calls, result=result, feedback=feedback)
    return {link.path: link.relation for link in found}


def raw_links(*calls, result="", feedback=""):
    usage = [
        {"tool_name": name, "arguments": arguments, "result": answer}
        for name, arguments, answer in calls
    ]
    request = {"goal": "g", "result": result, "feedback": feedback, "tool_usage": usage}
    return file_links.find(task.parse(request))


def shell(command, result=""):
    return links(("Bash", {"command": command}, result))


class TestToolVocabularies:
    @pytest.mark.parametrize(
        ("name", "arguments", "relation"),
        [
            ("Read", {"file_path": "src/a.py"}, "read"),
            ("Write", {"file_path": "src/a.py", "content": "x"}, "created"),
            ("Edit", {"file_path": "src/a.py", "old_string": "x"}, "modified"),
            ("MultiEdit", {"file_path": "src/a.py", "edits": []}, "modified"),
            ("NotebookEdit", {"notebook_path": "src/a.py"}, "modified"),
            ("read_file", {"path": "src/a.py"}, "read"),
            ("write_file", {"path": "src/a.py", "content": ""}, "created"),
            ("delete_file", {"target_file": "src/a.py"}, "deleted"),
            ("str_replace_editor", {"command": "view", "path": "src/a.py"}, "read"),
            (
                "str_replace_editor",
                {"command": "create", "path": "src/a.py"},
                "created",
            ),
            (
                "str_replace_editor",
                {"command": "insert", "path": "src/a.py"},
                "modified",
            ),
            ("Grep", {"pattern": "x", "path": "src/a.py"}, "referenced"),
            ("mcp__fs__read_text_file", {"path": "src/a.py"}, "read"),
            ("deploy", {"config": {"files": ["src/a.py"]}}, "referenced"),
        ],
    )
    def test_the_relation_is_what_the_tool_did(self, name, arguments, relation):
        assert links((name, arguments, "ok")) == {"src/a.py": relation}

    def test_a_rename_deletes_one_name_and_creates_the_other(self):
        found = links(("move_file", {"source": "a.py", "destination": "b.py"}, "ok"))

        assert found == {"a.py": "deleted", "b.py": "created"}

    def test_writing_over_a_file_that_was_read_modifies_it(self):
        found = links(
            ("Read", {"file_path": "a.py"}, "x"),
            ("Write", {"file_path": "a.py", "content": "y"}, "ok"),
        )

        assert found == {"a.py": "modified"}

    def test_a_writer_that_says_updated_did_not_create(self):
        found = links(
            ("Write", {"file_path": "a.py"}, "The file a.py has been updated.")
        )

        assert found == {"a.py": "modified"}

    def test_a_failed_edit_modifies_nothing(self):
        found = links(
            ("Edit", {"file_path": "a.py", "old_string": "x"}, "Error: not found")
        )

        assert found == {"a.py": "referenced"}

    def test_a_failed_edit_after_reading_leaves_the_file_read(self):
        found = links(
            ("Read", {"file_path": "a.py"}, "x"),
            ("Edit", {"file_path": "a.py", "old_string": "x"}, "Error: not found"),
        )

        assert found == {"a.py": "read"}

    def test_it_keeps_the_lines_that_were_read(self):
        view = {"command": "view", "path": "a.py", "view_range": [3, 9]}
        found = raw_links(
            ("str_replace_editor", view, "text"),
            ("Read", {"file_path": "b.py", "offset": 11, "limit": 10}, "text"),
        )

        assert found == [
            file_paths.PathLink("a.py", "read", 3, 9),
            file_paths.PathLink("b.py", "read", 11, 20),
        ]

    def test_a_folder_to_search_in_is_no_file(self):
        assert links(("Grep", {"pattern": "x", "path": "src"}, "")) == {}


class TestPatches:
    PATCH = (
        "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n@@\n-x\n+y\n"
        "*** Delete File: c.py\n*** Update File: d.py\n*** Move to: e.py\n*** End Patch"
    )

    def test_it_reads_an_apply_patch_body(self):
        assert links(("apply_patch", {"input": self.PATCH}, "Done")) == {
            "a.py": "created",
            "b.py": "modified",
            "c.py": "deleted",
            "d.py": "deleted",
            "e.py": "created",
        }

    def test_it_reads_a_patch_typed_into_a_shell(self):
        command = ["bash", "-lc", f"apply_patch <<'EOF'\n{self.PATCH}\nEOF"]

        assert links(("shell", {"command": command}, "ok"))["b.py"] == "modified"

    def test_a_failed_patch_changes_nothing(self):
        found = links(("apply_patch", {"input": self.PATCH}, "Error: invalid context"))

        assert set(found.values()) == {"referenced"}

    def test_the_hunk_of_another_file_whose_header_was_cut_does_not_count(self):
        diff = (
            "--- a/src/a.py\n+++ b/src/a.py\n@@ -706,2 +706,4 @@\n x\n"
            "[9,000 characters left out]\n@@ -200,3 +220,4 @@\n y\n"
        )

        assert raw_links(result=diff) == [
            file_paths.PathLink("src/a.py", "modified", 706, 709)
        ]

    def test_lines_of_a_call_in_the_wrong_order_are_only_the_first(self):
        (link,) = raw_links(("view", {"path": "src/a.py", "view_range": [30, 10]}, ""))

        assert (link.line_start, link.line_end) == (30, None)

    def test_a_diff_in_the_result_counts_with_its_lines(self):
        diff = (
            "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n"
            "@@ -3,2 +3,4 @@\n x\n@@ -20 +22,2 @@\n y\n"
            "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n+x\n"
            "--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        )

        assert raw_links(result=diff) == [
            file_paths.PathLink("src/a.py", "modified", 3, 23),
            file_paths.PathLink("new.py", "created", 1, 2),
            file_paths.PathLink("old.py", "deleted"),
        ]


class TestShellCommands:
    @pytest.mark.parametrize(
        ("command", "expected"),
        [
            ("cat a.py", {"a.py": "read"}),
            ("head -n 5 docs/a.md | grep x", {"docs/a.md": "read"}),
            ("echo x > a.txt", {"a.txt": "created"}),
            ("echo x >> a.txt", {"a.txt": "modified"}),
            ("make all 2>&1 >/dev/null", {}),
            ("sed -i 's/x/y/' a.py b.py", {"a.py": "modified", "b.py": "modified"}),
            ("sed -i.bak 's/x.py/y/' a.py", {"a.py": "modified"}),
            ("rm -rf a.py", {"a.py": "deleted"}),
            ("mv a.py b.py", {"a.py": "deleted", "b.py": "created"}),
            ("git mv a.py b.py", {"a.py": "deleted", "b.py": "created"}),
            ("git rm a.py", {"a.py": "deleted"}),
            ("git checkout -- a.py", {"a.py": "modified"}),
            ("cp a.py b.py", {"a.py": "read", "b.py": "created"}),
            ("touch a.py", {"a.py": "created"}),
            ("python tools/x.py --input data.csv", {"tools/x.py": "referenced",
                                                    "data.csv": "referenced"}),
            ("pytest tests/test_a.py::TestB -q", {"tests/test_a.py": "referenced"}),
            ("ENV=1 sudo cat a.py", {"a.py": "read"}),
            ("cd backend && cat app.py", {"backend/app.py": "read"}),
            ("cd /repo && cat app.py", {"app.py": "read"}),
            ("bash -lc 'cat a.py'", {"a.py": "read"}),
            ("cat 'my notes.txt'", {"my notes.txt": "read"}),
            ("grep -rn 'x.py' src/a.py", {"src/a.py": "read"}),
            ("find . -name '*.py'", {}),
            ("find_file \"a.py\" src", {}),
            ("black a.py", {"a.py": "modified"}),
            ("ruff check a.py", {"a.py": "referenced"}),
            ("echo 'unclosed > a.txt", {"a.txt": "created"}),
        ],
    )  # fmt: skip
    def test_each_program_has_its_effect(self, command, expected):
        found = {
            path: relation
            for path, relation in shell(command).items()
            if "unclosed" not in path
        }

        assert found == expected

    def test_a_here_document_is_content(self):
        command = "cat > a.py <<'EOF'\nimport os\nrm b.py\nopen('c.txt')\nEOF\ncat d.py"

        assert shell(command) == {"a.py": "created", "d.py": "read"}

    def test_the_lines_that_a_command_prints_are_kept(self):
        found = raw_links(("Bash", {"command": "sed -n '10,25p' a.py"}, "x"))

        assert found == [file_paths.PathLink("a.py", "read", 10, 25)]

    def test_a_failed_removal_deletes_nothing(self):
        found = shell("rm a.py", "rm: cannot remove 'a.py': No such file or directory")

        assert found == {"a.py": "referenced"}

    def test_in_a_chain_only_the_failed_command_is_discounted(self):
        found = shell("sed -i s/x/y/ a.py && pytest", "==== 1 failed in 0.1s ====")

        assert found["a.py"] == "modified"


class TestTerminalEditors:
    """The commands of SWE-agent: the open file is in the header of each answer."""

    HEADER = "[File: /repo/src/a.py (12 lines total)]\n1:x"

    def test_an_edit_changes_the_open_file(self):
        found = links(
            ("bash", {"command": "open src/a.py 3"}, self.HEADER),
            ("bash", {"command": "edit 1:1\ny = 2\nend_of_edit"}, self.HEADER),
        )

        assert found == {"src/a.py": "modified"}

    def test_a_refused_edit_changes_nothing(self):
        refusal = "Your proposed edit has introduced new syntax error(s).\n"
        found = links(
            ("bash", {"command": "open src/a.py"}, self.HEADER),
            ("bash", {"command": "edit 1:1\ny = (\nend_of_edit"}, refusal),
        )

        assert found == {"src/a.py": "read"}

    def test_created_then_removed_is_deleted(self):
        found = links(
            (
                "bash",
                {"command": "create try.py"},
                "[File: /repo/try.py (1 lines total)]",
            ),
            ("bash", {"command": "rm try.py"}, ""),
        )

        assert found == {"try.py": "deleted"}


class TestResults:
    def test_a_traceback_references_its_frames(self):
        text = (
            "Traceback (most recent call last):\n"
            '  File "src/a.py", line 12, in f\n    g()\nValueError: x'
        )
        found = raw_links(("Bash", {"command": "make run"}, text))

        assert file_paths.PathLink("src/a.py", "referenced", 12, 12) in found

    def test_search_hits_are_references(self):
        found = links(("Grep", {"pattern": "x"}, "src/a.py:3:x = 1\nsrc/b.py:9:x"))

        assert found == {"src/a.py": "referenced", "src/b.py": "referenced"}

    def test_paths_inside_a_file_that_was_read_are_content(self):
        text = "import x\n# see docs/guide.md\nsrc/b.py:3: note\n"

        assert links(("Read", {"file_path": "a.py"}, text)) == {"a.py": "read"}

    def test_a_plain_listing_gives_no_links(self):
        assert shell("ls", "README.md\nsetup.py\nsrc/") == {}


class TestNames:
    @pytest.mark.parametrize(
        "text",
        ["https://example.com/a.py", "example.com", "1.2.3", "v2.0", "e.g.", "and/or",
         "-rf", "*.py", "/dev/null", "", "src/", "node.js", "2024-05-20", "a\x00b.py",
         "x" * 900 + ".py"],
    )  # fmt: skip
    def test_a_text_that_names_no_file_is_refused(self, text):
        assert file_paths.normalise(text) is None

    @pytest.mark.parametrize(
        ("text", "path"),
        [
            ("./src//a.py", "src/a.py"),
            ("src/../a.py", "a.py"),
            ("`a.py`", "a.py"),
            ("a.py,", "a.py"),
            ("src\\app\\a.py", "src/app/a.py"),
            ("file:///tmp/a.py", "/tmp/a.py"),
            ("Makefile", "Makefile"),
            (".gitignore", ".gitignore"),
        ],
    )
    def test_paths_are_written_one_way(self, text, path):
        assert file_paths.normalise(text) == path

    def test_a_path_argument_may_have_any_name(self):
        assert (
            file_paths.normalise("app/[id]/page.tsx", explicit=True)
            == "app/[id]/page.tsx"
        )
        assert file_paths.normalise("bin/run", explicit=True) == "bin/run"

    def test_both_names_of_one_file_are_one_link(self):
        found = links(
            ("Read", {"file_path": "/srv/app/src/a.py"}, "x"),
            ("Bash", {"command": "cat src/a.py"}, "x"),
            ("Edit", {"file_path": "/srv/app/src/b.py"}, "ok"),
        )

        assert found == {"src/a.py": "read", "src/b.py": "modified"}

    def test_there_are_at_most_a_thousand(self):
        files = [f"src/a{number}.py" for number in range(1_500)]

        assert len(raw_links(("pack", {"files": files}, "ok"))) == file_links.MAX_LINKS


class TestOneLinkPerPath:
    def test_the_strongest_relation_wins(self):
        found = links(
            ("Edit", {"file_path": "a.py"}, "ok"),
            ("Read", {"file_path": "a.py"}, "x"),
            ("Bash", {"command": "rm a.py"}, ""),
        )

        assert found == {"a.py": "deleted"}


def test_of_nested_roots_the_outermost_is_cut_whatever_the_order_of_a_set():
    folders = [f"d{number}" for number in range(12)]
    calls = []
    for number in range(1, len(folders) + 1):
        root = "/".join(["/srv", *folders[:number]])
        calls += [f"{root}/s{number}/a.py", f"s{number}/a.py"]
    deepest = "/".join(folders)

    found = links(
        *[("Read", {"file_path": path}, "x") for path in calls],
        ("Read", {"file_path": f"/srv/{deepest}/x.py"}, "x"),
    )

    assert f"{deepest.removeprefix('d0/')}/x.py" in found
