from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common import errors
from memories.models import File, MemoryFile
from memories.store import files
from memories.store.drafts import FileRef

OLD, NEW = "src/auth.py", "src/login.py"


@pytest.fixture
def speaks_of(stored):
    """A memory that is linked to files: `speaks_of("a.py")`."""
    numbers = iter(range(1000))

    def store(*refs):
        named = tuple(FileRef(r) if isinstance(r, str) else r for r in refs)
        return stored(f"Lamp {next(numbers)} is lit at dusk", files=named)[0]

    return store


@pytest.fixture
def sync(project, alice):
    return lambda seen: files.sync(project, seen, alice)


def suspects():
    links = MemoryFile.objects.exclude(suspect_since=None).select_related("file")
    return {(link.file.file_path, link.content_hash) for link in links}


class TestRenaming:
    @pytest.fixture
    def rename(self, project, alice):
        return lambda new=NEW: files.rename(project, OLD, new, alice)

    def test_the_new_path_is_as_files_are_named(self, speaks_of, rename):
        speaks_of(OLD)

        with pytest.raises(errors.Invalid):
            rename("./")
        assert rename(f"./{NEW}").file_path == NEW

    def test_links_move_to_a_file_that_is_known(self, speaks_of, rename):
        alone, both = speaks_of(OLD), speaks_of(OLD, NEW)
        twice = speaks_of(FileRef(OLD, relation="modified"), NEW)

        rename()

        assert File.objects.get().file_path == NEW
        found = MemoryFile.objects.order_by("memory", "relation_type")
        assert list(found.values_list("memory", "relation_type")) == [
            (alone.pk, "referenced"),
            (both.pk, "referenced"),
            (twice.pk, "modified"),
            (twice.pk, "referenced"),
        ]

    def test_many_are_as_few_statements_as_three(self, speaks_of, rename):
        asked = []
        for count in (3, 30):
            speaks_of(NEW)
            for _ in range(count):
                speaks_of(OLD)
            with CaptureQueriesContext(connection) as statements:
                rename()
            asked.append(len(statements))

        assert asked[0] == asked[1]


class TestChangedFiles:
    def test_links_to_an_earlier_content_become_suspect(self, speaks_of, sync):
        sync({"a.py": "1", "b.py": "1", "c.py": "1"})
        speaks_of("a.py", "b.py", "c.py")
        speaks_of(FileRef("a.py", content_hash="2"))

        assert sync({"a.py": "2", "b.py": "1", "c.py": None})["suspect"] == 2
        assert suspects() == {("a.py", "1"), ("c.py", "1")}

    def test_one_without_a_known_content_is_suspect_too(self, speaks_of, sync):
        speaks_of("a.py")
        sync({"a.py": "1"})

        assert sync({"a.py": "2"})["suspect"] == 1

    def test_the_statement_is_the_same_for_many(self, speaks_of, sync):
        told = []
        for count in (2, 20):
            names = [f"{count}/{n}.py" for n in range(count)]
            sync(dict.fromkeys(names, "1"))
            speaks_of(*names)
            with CaptureQueriesContext(connection) as statements:
                assert sync(dict.fromkeys(names, "2"))["suspect"] == count
            told.append([s["sql"].count("content_hash") for s in statements])

        assert told[0] == told[1]
