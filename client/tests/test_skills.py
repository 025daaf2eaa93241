"""A folder of SKILL.md files: written from an export, and read for an import."""

from __future__ import annotations

import pytest
from agent_memory import skills
from agent_memory.connections import NotPossible


def skill(text="x", project="p1"):
    return (
        "---\nname: shop-gotchas\nmetadata:\n  source: agent-memory\n"
        f'  project: "{project}"\n---\n{text}\n'
    )


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "skills"


class TestWriting:
    def test_each_skill_has_its_folder(self, folder):
        change = skills.write_folder(folder, "p1", {"shop-gotchas/SKILL.md": skill()})

        file = folder / "shop-gotchas/SKILL.md"
        assert change == ([file], [])
        assert file.read_bytes() == skill().encode()

    def test_the_same_export_again_writes_nothing(self, folder):
        files = {"shop-gotchas/SKILL.md": skill()}
        skills.write_folder(folder, "p1", files)

        assert skills.write_folder(folder, "p1", files) == ([], [])

    def test_a_skill_that_the_project_has_no_more_is_removed(self, folder):
        skills.write_folder(folder, "p1", {"a/SKILL.md": skill()})
        skills.write_folder(folder, "p2", {"b/SKILL.md": skill(project="p2")})
        (folder / "c").mkdir()
        (folder / "c/SKILL.md").write_text("mine")

        change = skills.write_folder(folder, "p1", {})

        assert change.removed == [folder / "a/SKILL.md"]
        assert sorted(path.name for path in folder.iterdir()) == ["b", "c"]

    def test_a_file_of_somebody_else_is_not_replaced(self, folder):
        (folder / "b").mkdir(parents=True)
        (folder / "b/SKILL.md").write_text("mine")
        files = {"a/SKILL.md": skill(), "b/SKILL.md": skill()}

        with pytest.raises(NotPossible, match="was not written by an export"):
            skills.write_folder(folder, "p1", files)

        assert [path.name for path in folder.iterdir()] == ["b"]

    def test_a_folder_with_the_name_of_a_skill_is_not_replaced(self, folder):
        (folder / "b/SKILL.md").mkdir(parents=True)

        with pytest.raises(NotPossible, match="was not written by an export"):
            skills.write_folder(folder, "p1", {"b/SKILL.md": skill()})

        assert skills.write_folder(folder, "p1", {}) == ([], [])

    @pytest.mark.parametrize(
        "path",
        ["../x/SKILL.md", "/etc/SKILL.md", "SKILL.md", "a/b/SKILL.md", "a/run.sh"],
    )
    def test_a_server_cannot_name_another_place(self, folder, path):
        with pytest.raises(NotPossible, match="no skill"):
            skills.write_folder(folder, "p1", {path: skill()})

        assert not folder.exists()

    def test_nothing_is_written_through_a_link(self, folder, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        folder.mkdir()
        (folder / "a").symlink_to(tmp_path / "elsewhere")

        with pytest.raises(NotPossible, match="is a link"):
            skills.write_folder(folder, "p1", {"a/SKILL.md": skill()})


class TestReading:
    def test_all_skills_of_a_folder_are_read_and_nothing_else(self, folder):
        (folder / "pdf/scripts").mkdir(parents=True)
        (folder / "pdf/SKILL.md").write_bytes(b"\xef\xbb\xbf- Use `pypdf`.\n")
        (folder / "pdf/scripts/run.py").write_text("x")

        assert skills.read_folder(folder) == {"pdf/SKILL.md": "- Use `pypdf`.\n"}

    def test_the_folder_of_one_skill_is_read_too(self, folder):
        folder.mkdir()
        (folder / "SKILL.md").write_text("x")

        assert skills.read_folder(folder) == {"skills/SKILL.md": "x"}

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (None, "has no SKILL.md"),
            (b"\xff", "no UTF-8"),
            (b"x" * 2**21, "1 MiB"),
            (b"x\n" * 2**18 + b"x" * 2**18, "1 MiB as JSON"),
        ],
        ids=["no file", "other bytes", "large", "large as JSON"],
    )
    def test_what_cannot_be_sent_is_said(self, folder, content, words):
        folder.mkdir()
        if content is not None:
            (folder / "SKILL.md").write_bytes(content)

        with pytest.raises(NotPossible, match=words):
            skills.read_folder(folder)
