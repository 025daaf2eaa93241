from __future__ import annotations

import json

import pytest

RULE = "Pass `--files` to `gh pr view`."


@pytest.fixture
def files(exported, project):
    def read():
        folder = json.loads(exported("skills"))
        assert folder["project_id"] == str(project.pk)
        return folder["files"]

    return read


def test_rules_about_one_tool_are_one_file(write, files):
    entry = write(RULE, applies_to=["tool:gh"])

    assert files() == {
        "alpha-gh/SKILL.md": (
            '---\nname: "alpha-gh"\n'
            'description: "Rules of the project alpha for gh. Use it in alpha when you use gh."\n'
            "metadata:\n  source: agent-memory\n"
            f'  project: "{entry.project_id}"\n---\n\n'
            "# Rules of the project alpha for gh\n\n"
            f"- [{entry.label}] {RULE}\n"
        )
    }


def test_each_set_of_places_has_its_file(write, files):
    write(RULE, applies_to=["tool:gh"])
    write("Keep the titles short.", applies_to=["path:docs/**"])
    write("Close each file.", applies_to=["path:docs/**", "language:go"])

    assert sorted(files()) == [
        "alpha-docs/SKILL.md",
        "alpha-gh/SKILL.md",
        "alpha-go-docs/SKILL.md",
    ]


def test_rules_of_no_tool_and_no_path_are_left_out(write, files):
    write("Write a changelog line.", applies_to=["always"])
    write("Close each file.", applies_to=["language:go"])
    write("Round amounts to 2 places.")

    assert files() == {}


def test_two_sets_with_one_name_have_two_files(write, files):
    write("Keep the titles short.", applies_to=["path:docs/**"])
    write("Close each file.", applies_to=["path:docs/*"])

    assert sorted(files()) == ["alpha-docs-2/SKILL.md", "alpha-docs/SKILL.md"]


def test_the_same_rules_give_the_same_bytes(write, exported):
    write(RULE, applies_to=["tool:gh"])

    assert exported("skills") == exported("skills")
