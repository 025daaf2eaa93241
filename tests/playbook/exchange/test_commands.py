from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from playbook.exchange import managed_block
from playbook.models import PlaybookDelta
from tests.playbook.exchange.sample_rules import RULES


def shell(*args, **options):
    out = StringIO()
    call_command(*map(str, args), stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


class TestExport:
    def test_it_prints_what_the_api_answers(self, project, playbook, exported):
        for format in ("ace", "agents-md", "skills"):
            assert shell("export", project.name, format=format) == exported(format)

    def test_it_keeps_the_rest_of_an_agents_file(self, project, playbook, tmp_path):
        file = tmp_path / "AGENTS.md"
        file.write_bytes(b"\xef\xbb\xbf# Team\r\n\r\nNo newline at the end")

        shell("export", project.name, format="agents-md", file=file)

        written = file.read_bytes()
        assert written.startswith(
            b"\xef\xbb\xbf# Team\r\n\r\nNo newline at the end\r\n"
        )
        assert RULES[0].encode() in written
        assert b"\n" not in written.replace(b"\r\n", b"")

    def test_it_keeps_mode_and_link_and_writes_once(self, project, playbook, tmp_path):
        file, link = tmp_path / "AGENTS.md", tmp_path / "CLAUDE.md"
        file.write_text("# Team\n")
        file.chmod(0o640)
        link.symlink_to(file)
        shell("export", project.name, format="agents-md", file=link)
        first = file.stat()

        shell("export", project.name, format="agents-md", file=link)

        assert link.is_symlink()
        assert (file.stat().st_mode & 0o777, file.stat().st_ino) == (
            0o640,
            first.st_ino,
        )
        assert sorted(tmp_path.iterdir()) == [file, link]

    def test_it_makes_a_file_that_is_missing(self, project, playbook, tmp_path):
        shell("export", project.name, format="ace", file=tmp_path / "playbook.txt")

        assert (tmp_path / "playbook.txt").read_text().startswith("## gotchas\n")

    def test_it_refuses_broken_markers_and_changes_nothing(
        self, project, playbook, tmp_path
    ):
        file = tmp_path / "AGENTS.md"
        file.write_text(managed_block.BEGIN)

        with pytest.raises(CommandError, match="Begin is on line 1"):
            shell("export", project.name, format="agents-md", file=file)

        assert file.read_text() == managed_block.BEGIN

    def test_it_names_a_project_that_is_not_there(self, db):
        with pytest.raises(CommandError, match="no project"):
            shell("export", "nowhere")


class TestImport:
    def test_it_reads_what_was_exported(self, project, playbook, tmp_path):
        file = tmp_path / "AGENTS.md"
        shell("export", project.name, format="agents-md", file=file)
        file.write_text(file.read_text().replace("at most 20", "at most 50"))

        told = shell("import", project.name, file, format="agents-md", producer="human")

        delta = PlaybookDelta.objects.get(project=project, status="pending")
        assert told == "update pending: 1\n"
        assert (delta.producer, delta.entry.label) == ("human", "gotchas-00001")

    @pytest.mark.parametrize("content", [b"\xff\xfe[", b"a\x00b"])
    def test_it_refuses_what_is_no_text(self, project, tmp_path, content):
        (tmp_path / "playbook.txt").write_bytes(content)

        with pytest.raises(CommandError):
            shell("import", project.name, tmp_path / "playbook.txt")

    def test_it_refuses_an_unknown_category(self, project, tmp_path):
        (tmp_path / "playbook.txt").write_text("[a-1] Do `x`.")

        with pytest.raises(CommandError, match="no category"):
            shell("import", project.name, tmp_path / "playbook.txt", category="nope")
