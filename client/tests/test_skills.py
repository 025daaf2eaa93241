"""A folder of SKILL.md files, written from an export."""

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
