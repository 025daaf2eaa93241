"""The pages of files: their tree, and the page of one."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from common.caller import Role
from console.files import directory_tree
from memories.models import File, Memory, MemoryFile
from memories.store import files
from tests.admin.conftest import HOSTILE, MARK, queries_of

pytestmark = pytest.mark.django_db
FILES, GRAPH = reverse("console:files"), reverse("console:file")


@pytest.fixture
def speaks_of(project, a_memory):
    """A memory that names these files: `speaks_of("src/a.py", "src/b.py")`."""

    def make(*paths, relation="modified", **fields):
        memory = a_memory(**fields)
        known = files.ensure(project, paths)
        for path in paths:
            MemoryFile.objects.create(
                memory=memory, file=known[path], relation_type=relation
            )
        return memory

    return make


def page_html(browser, url, project, status=200, **asked):
    answer = browser.get(url, {"project": project.pk, **asked})
    assert answer.status_code == status
    return answer.content.decode()


def child_names(project, path, caller):
    found = directory_tree.list_directory(project, path, caller)
    return [(one.name, one.files, one.memories) for one in found.children]


class TestADirectory:
    def test_directories_come_first_with_the_sums_of_what_they_hold(
        self, project, alice, speaks_of
    ):
        speaks_of("src/api/views.py", "src/api/urls.py")
        speaks_of("src/api/views.py", "src/main.py")
        speaks_of("README.md")

        assert child_names(project, "", alice) == [("src/", 3, 2), ("README.md", 1, 1)]
        assert child_names(project, "src/", alice) == [
            ("api/", 2, 2),
            ("main.py", 1, 1),
        ]
        assert child_names(project, "src/api/", alice) == [
            ("urls.py", 1, 1),
            ("views.py", 1, 2),
        ]

    def test_only_current_memories_count(self, project, alice, speaks_of):
        speaks_of("a.py", archived_at=timezone.now())
        speaks_of("a.py", expires_at=timezone.now() - timedelta(days=1))

        assert child_names(project, "", alice) == [("a.py", 1, 0)]

    def test_names_are_taken_literally(self, project, alice, speaks_of):
        speaks_of("/etc/hosts", "50%_x/a", "50yyx/b", "ünï/😀.py")

        assert [one[0] for one in child_names(project, "50%_x/", alice)] == ["a"]
        assert [one[0] for one in child_names(project, "/", alice)] == ["etc/"]
        assert [one[0] for one in child_names(project, "ünï/", alice)] == ["😀.py"]

    def test_memories_written_before_a_change_are_counted(
        self, project, alice, speaks_of
    ):
        files.sync(project, {"a.py": "1"}, alice)
        speaks_of("a.py")
        files.sync(project, {"a.py": "2"}, alice)

        [child] = directory_tree.list_directory(project, "", alice).children

        assert (child.memories, child.suspect) == (1, 1)

    def test_it_lists_at_most_the_limit(self, project, alice, speaks_of, monkeypatch):
        monkeypatch.setattr(directory_tree, "MAX_CHILDREN", 2)
        speaks_of("a.py", "b.py", "c.py")

        found = directory_tree.list_directory(project, "", alice)

        assert [(one.name, one.memories) for one in found.children] == [
            ("a.py", 1),
            ("b.py", 1),
        ]
        assert found.is_cut


class TestTheTree:
    def test_it_unfolds_and_folds_by_links(self, browser_of, project, speaks_of):
        speaks_of("src/api/views.py")
        viewer = browser_of(Role.VIEWER)

        html = page_html(viewer, FILES, project, path="src")

        assert f"{FILES}?project={project.pk}&amp;path=src%2Fapi%2F" in html
        assert 'aria-label="Fold src/"' in html
        inner = page_html(viewer, FILES, project, path="src/api/")
        assert f"{GRAPH}?project={project.pk}&amp;path=src%2Fapi%2Fviews.py" in inner

    def test_numbers_lead_to_the_rows_that_they_count(
        self, browser_of, project, speaks_of
    ):
        speaks_of("src/a.py")
        speaks_of("docs/b.md")
        viewer = browser_of(Role.VIEWER)

        html = page_html(viewer, FILES, project)

        url = reverse("admin:memories_file_changelist")
        link = f"{url}?project={project.pk}&amp;under=src%2F"
        assert link in html
        rows = viewer.get(link.replace("&amp;", "&")).content.decode()
        assert "src/a.py" in rows
        assert "docs/b.md" not in rows

    def test_without_files_it_says_what_to_do(self, curator, project):
        assert "files/sync" in page_html(curator, FILES, project)

    @pytest.mark.parametrize("path", ["nowhere/", "W" * 5_000])
    def test_a_missing_directory_is_reported(self, curator, project, speaks_of, path):
        speaks_of("src/a.py")

        html = page_html(curator, FILES, project, status=404, path=path)

        assert "There is nothing below" in html

    def test_charlie_sees_nothing_of_it(self, charlies, project, world):
        assert MARK not in charlies.get(FILES).content.decode()
        page_html(charlies, FILES, project, status=404)

    def test_hostile_paths_are_text(self, owner, project, world):
        html = page_html(owner, FILES, project)

        assert MARK in html
        assert "<script>alert" not in html
        assert "<img src=x" not in html

    def test_it_asks_two_queries_beside_the_shell(self, owner, project, speaks_of):
        def own():
            asked = queries_of(owner, f"{FILES}?project={project.pk}&path=src/")
            return len([sql for sql in asked if "memories_file" in sql])

        speaks_of("src/0.py")
        few = own()
        for number in range(5):
            speaks_of(f"src/{number}.py", f"src/{number}/a.py")

        assert few == own() == 2


class TestThePageOfAFile:
    def test_it_lists_what_is_linked_to_it(
        self, browser_of, project, speaks_of, an_entry
    ):
        memory = speaks_of("src/a.py", "src/b.py", title="Tides", tags=["sea"])

        html = page_html(browser_of(Role.VIEWER), GRAPH, project, path="src/a.py")

        page = reverse("admin:memories_memory_change", args=[memory.pk])
        beside = f"{GRAPH}?project={project.pk}&amp;path=src%2Fb.py"
        for link in (page, beside, "tag=sea"):
            assert link in html
        assert "<td>modified</td>" in html

    def test_former_paths_and_changes_are_shown(
        self, curator, project, alice, speaks_of
    ):
        files.sync(project, {"old.py": "1"}, alice)
        speaks_of("old.py")
        files.sync(project, {"old.py": "2"}, alice)
        files.rename(project, "old.py", "new.py", alice)

        html = page_html(curator, GRAPH, project, path="new.py")

        assert re.search(r"Formerly\s*<bdi[^>]*>old.py", html)
        assert "changed since" in html

    def test_a_former_path_leads_to_the_new_one(
        self, curator, project, alice, speaks_of
    ):
        speaks_of("old.py")
        files.rename(project, "old.py", "new.py", alice)

        html = page_html(curator, GRAPH, project, status=404, path="old.py")

        assert "It was renamed" in html
        assert f"{GRAPH}?project={project.pk}&amp;path=new.py" in html

    @pytest.mark.parametrize("path", ["", "nowhere.py", "W" * 5_000])
    def test_a_missing_file_is_reported(self, curator, project, path):
        html = page_html(curator, GRAPH, project, status=404, path=path)

        assert "The project has no file" in html

    def test_a_file_without_links_says_so(self, curator, project, alice):
        files.sync(project, {"a.py": "1"}, alice)

        html = page_html(curator, GRAPH, project, path="a.py")

        assert "No current memory and no entry of the playbook is linked" in html

    def test_charlie_sees_nothing_of_it(self, charlies, project, world):
        path = File.objects.get(project=project).file_path

        html = page_html(charlies, GRAPH, project, status=404, path=path)

        assert MARK not in html

    def test_hostile_texts_are_text(self, owner, project, world):
        # The world has no current memory of the shared scopes.
        Memory.objects.filter(pk=world[Memory].pk).update(
            superseded_by=None, deleted_at=None, scope_kind="workspace"
        )
        path = File.objects.get(project=project).file_path

        html = page_html(owner, GRAPH, project, path=path)

        assert MARK in html
        assert "<script>alert" not in html
        assert "<img src=x" not in html
        assert len(html) < 200_000
        assert HOSTILE not in html

    def test_it_asks_the_same_queries_however_much_there_is(
        self, owner, project, speaks_of
    ):
        def own():
            return len(queries_of(owner, f"{GRAPH}?project={project.pk}&path=a.py"))

        speaks_of("a.py", "b.py", tags=["sea"])
        own()
        few = own()
        for number in range(5):
            speaks_of("a.py", f"{number}.py", relation="read", tags=[f"t{number}"])

        # Session, account, roles, projects, waiting changes, the project; the file,
        # shared rows, the count, links, suspects, entries, neighbours, tags, types,
        # relations.
        assert few == own() == 16
