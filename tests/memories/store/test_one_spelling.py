"""Equal names, tags, keys and paths are one, in whatever way they are spelled."""

from __future__ import annotations

import unicodedata
from importlib import import_module

import pytest
from django.apps import apps

from memories.models import File, Memory, MemoryFile, Tag


def decompose(text):
    return unicodedata.normalize("NFD", text)


@pytest.fixture
def store(alice_api, project):
    """Store a memory, and return the receipt's memory."""
    number = iter(range(100))

    def post(**fields):
        text = f"The report of team {next(number)} is due at nine."
        body = {"project_id": str(project.pk), "content": text, **fields}
        answer = alice_api.post("/api/v1/memories", body)
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()["memory"]

    return post


@pytest.fixture
def find(alice_api, project):
    """The ids that a search and a list with a filter both find."""

    def ask(**filters):
        body = {"project_id": str(project.pk), "query": "report of team", **filters}
        hits = alice_api.post("/api/v1/search", body).json()["hits"]
        return {hit["memory"]["id"] for hit in hits}

    return ask


class TestPaths:
    def test_a_file_is_found_by_each_of_its_spellings(self, store, find):
        kept = store(file_paths=["src\\auth\\login.py", "./src//auth/login.py"])

        assert [each["file_path"] for each in kept["files"]] == ["src/auth/login.py"]
        for asked in (
            "src/auth/login.py",
            "src\\auth\\login.py",
            "src\\auth\\",
            "src/*",
        ):
            assert find(file_paths=[asked]) == {kept["id"]}

    def test_no_sign_of_a_path_is_a_pattern(self, store, find):
        store(file_paths=["lib/aXb.py", "lib/50 or more.py"])

        for asked in ("lib/a_b.py", "lib/50%", "lib/50%*", "lib/a_*"):
            assert find(file_paths=[asked]) == set()

    def test_a_path_that_is_no_file_is_refused(self, alice_api, project):
        body = {"project_id": str(project.pk), "content": "A text that is long enough."}
        answer = alice_api.post("/api/v1/memories", body | {"file_paths": ["x/.."]})

        assert answer.status_code == 400


class TestTags:
    def test_a_tag_is_one_in_each_case_and_form(self, store, find):
        first = store(tags=["Größe"])
        second = store(tags=[decompose("größe"), "GRÖSSE"])

        assert (first["tags"], second["tags"]) == (["Größe"], ["Größe", "GRÖSSE"])
        assert find(tags=[decompose("GRÖßE")]) == {first["id"], second["id"]}
        assert find(tags=["größe", "grösse"]) == {second["id"]}
        assert len(find(tags=["größe", "none"], tags_match="any")) == 2

    def test_two_new_spellings_of_one_write_are_one_tag(self, store):
        assert store(tags=["CI", "ci", "Ci"])["tags"] == ["CI"]

    def test_a_changed_memory_has_the_tag_of_the_project(self, store, alice_api):
        store(tags=["CI"])
        other = store()
        path = f"/api/v1/memories/{other['id']}"

        assert alice_api.patch(path, {"tags": ["ci"]}).json()["tags"] == ["CI"]

    def test_the_case_counts_if_the_project_says_so(self, store, find, project):
        project.settings = {"tags_by_case": True}
        project.save()
        upper, lower = store(tags=["CI"]), store(tags=["ci"])

        assert (upper["tags"], lower["tags"]) == (["CI"], ["ci"])
        assert find(tags=["ci"]) == {lower["id"]}

    def test_a_tag_cannot_be_made_or_renamed_to_another_case(
        self, store, alice_api, project
    ):
        store(tags=["CI", "build"])
        body = {"project_id": str(project.pk), "name": "ci"}
        assert alice_api.post("/api/v1/tags", body).status_code == 409
        build, ci = (Tag.objects.get(name=name) for name in ("build", "CI"))

        refused = alice_api.patch(f"/api/v1/tags/{build.pk}", {"name": "Ci"})
        renamed = alice_api.patch(f"/api/v1/tags/{ci.pk}", {"name": "ci"})

        assert (refused.status_code, renamed.status_code) == (409, 200)
        assert Memory.objects.filter(tags__contains=["ci"]).exists()


def test_a_key_in_another_unicode_form_is_the_same_key(store):
    old = store(kind="fact", key="größe", value="5")
    store(kind="fact", key=decompose("größe"), value="6")

    assert Memory.objects.get(pk=old["id"]).superseded_by.value == "6"


def test_ids_stay_byte_for_byte(store):
    user = decompose("josé")

    kept = store(agent_id=user, scope={"kind": "user", "user_id": user})

    assert (kept["agent_id"], kept["scope"]["user_id"]) == (user, user)


def test_a_project_is_found_by_its_name_in_each_form(alice_api, project):
    project.name = "Größe"
    project.save()

    answer = alice_api.get(f"/api/v1/projects/{decompose('Größe')}")

    assert (answer.status_code, answer.json()["name"]) == (200, "Größe")


def test_the_migration_joins_the_spellings_of_a_file(store, find):
    clean, odd = store(file_paths=["src/a.py"]), store(file_paths=["src/b.py"])
    File.objects.filter(file_path="src/b.py").update(file_path="src\\a.py")
    lonely = store(file_paths=["src/c.py"])
    File.objects.filter(file_path="src/c.py").update(file_path="./src//c.py")

    migration = import_module("memories.migrations.0003_one_spelling")
    migration.clean_paths(apps, None)

    assert find(file_paths=["src/a.py"]) == {clean["id"], odd["id"]}
    assert find(file_paths=["src/c.py"]) == {lonely["id"]}
    assert MemoryFile.objects.count() == 3
