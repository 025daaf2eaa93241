"""Sixteen clients that want the same thing at the same moment."""

from __future__ import annotations

from collections import Counter

import pytest
from rest_framework.test import APIClient

from common.caller import Role
from memories.lifecycle import delete
from memories.models import File, Memory, MemoryChange, MemoryFile, Tag

pytestmark = pytest.mark.django_db(transaction=True)
CLIENTS, TEXTS = 16, 8


@pytest.fixture
def send(bob_api, together):
    """Post bodies at the same time, each from its own client; return the answers."""

    def at_once(path, bodies, client=bob_api):
        def one(body):
            own = APIClient(raise_request_exception=False)
            own.credentials(**client._credentials)
            return own.post(f"/api/v1/{path}", body)

        return together(*[lambda body=body: one(body) for body in bodies])

    return at_once


def memories(client):
    """Every client has its own order, and tags and files in an order of its own."""
    for number in range(TEXTS):
        at = (number + client) % TEXTS
        names = ["red", "green", "blue"]
        names = names[client % 3 :] + names[: client % 3]
        yield {
            "content": f"Crane number {at} is oiled every {at + 2} days by its keeper",
            "memory_type": "learning",
            "tags": names,
            "file_paths": [f"cranes/{name}.py" for name in names],
        }


def test_one_original_of_each_text_and_exact_counts(send, bob_api, project):
    named = {"project_id": str(project.pk)}
    bodies = [named | {"memories": list(memories(n))} for n in range(CLIENTS)]
    answers = send("memories/batch", bodies)

    assert {answer.status_code for answer in answers} == {200}
    results = [item for answer in answers for item in answer.json()["results"]]
    told = Counter(item["status"] for item in results)
    assert told == {"stored": TEXTS, "duplicate": TEXTS * (CLIENTS - 1)}
    originals = Memory.objects.current().light()
    assert (originals.count(), Memory.objects.count()) == (TEXTS, TEXTS * CLIENTS)
    duplicate_of = {item["duplicate_of"] for item in results} - {None}
    assert duplicate_of == {str(memory.pk) for memory in originals}

    tags = bob_api.get("/api/v1/tags", named).json()["results"]
    files = bob_api.get("/api/v1/files", named).json()["results"]
    counts = {tag["name"]: tag["usage_count"] for tag in tags}
    assert counts == dict.fromkeys(("red", "green", "blue"), TEXTS)
    assert [file["memory_count"] for file in files] == [TEXTS] * 3
    assert Tag.objects.count() == File.objects.count() == 3
    assert MemoryFile.objects.filter(memory__in=originals).count() == TEXTS * 3


def test_one_current_fact_of_a_key(send, project):
    fact = {
        "project_id": str(project.pk),
        "kind": "fact",
        "key": "harbour.master",
        "sensitivity": "public",
    }
    bodies = [fact | {"content": f"master {n % 4}"} for n in range(CLIENTS)]
    answers = send("memories", bodies)

    assert {answer.status_code for answer in answers} <= {200, 201}
    assert Memory.objects.current().filter(key="harbour.master").count() == 1


def test_one_memory_for_one_idempotency_key(bob_api, together, project):
    body = next(memories(0)) | {"project_id": str(project.pk)}

    def send():
        own = APIClient()
        own.credentials(**bob_api._credentials)
        headers = {"Idempotency-Key": "the same"}
        return own.post("/api/v1/memories", body, headers=headers)

    answers = together(*[send] * CLIENTS)

    assert {answer.status_code for answer in answers} <= {201, 409}
    stored = [answer for answer in answers if answer.status_code == 201]
    assert len({answer.json()["id"] for answer in stored}) == 1
    assert {a.json()["code"] for a in answers if a not in stored} <= {
        "idempotency_running"
    }
    assert Memory.objects.count() == 1


class TestTheSameName:
    def test_of_a_tag(self, send, project):
        body = {"project_id": str(project.pk), "name": "crane"}
        answers = send("tags", [body] * CLIENTS)

        codes = Counter(answer.status_code for answer in answers)
        assert codes == {201: 1, 409: CLIENTS - 1}
        assert Tag.objects.count() == 1

    def test_of_a_project(self, send, client_of):
        answers = send(
            "projects", [{"name": "x"}] * CLIENTS, client_of(role=Role.OWNER)
        )

        codes = Counter(answer.status_code for answer in answers)
        assert codes == {201: 1, 409: CLIENTS - 1}

    def test_of_a_file_that_is_renamed(self, send, project):
        named = {"project_id": str(project.pk)}
        made = next(memories(0)) | named
        send("memories", [made])
        rename = named | {"new_path": "cranes/new.py"}
        bodies = [rename | {"old_path": f"cranes/{c}.py"} for c in ("red", "blue")] * 8
        answers = send("files/rename", bodies)

        codes = Counter(answer.status_code for answer in answers)
        assert codes == {200: 2, 404: CLIENTS - 2}
        [file] = File.objects.filter(file_path="cranes/new.py")
        assert sorted(file.renamed_from) == ["cranes/blue.py", "cranes/red.py"]
        links = MemoryFile.objects.filter(file=file)
        assert links.count() == 1

    def test_of_a_tag_that_is_renamed_and_made_at_once(
        self, together, project, alice_api, client_of
    ):
        named = {"project_id": str(project.pk)}
        tag = alice_api.post("/api/v1/tags", named | {"name": "old"}).json()["id"]

        def client():
            own = APIClient(raise_request_exception=False)
            own.credentials(**alice_api._credentials)
            return own

        answers = together(
            *[lambda: client().post("/api/v1/tags", named | {"name": "new"})] * 4,
            *[lambda: client().patch(f"/api/v1/tags/{tag}", {"name": "new"})] * 4,
        )

        assert {answer.status_code for answer in answers} <= {200, 201, 409}
        assert Tag.objects.filter(name="new").count() == 1


def test_many_changes_of_one_memory_are_all_kept(send, bob_api, together, project):
    body = next(memories(0)) | {"project_id": str(project.pk)}
    memory = bob_api.post("/api/v1/memories", body).json()["id"]

    def change(number):
        own = APIClient(raise_request_exception=False)
        own.credentials(**bob_api._credentials)
        changes = {"metadata": {f"by {number}": number}}
        return own.patch(f"/api/v1/memories/{memory}", changes)

    answers = together(*[lambda n=n: change(n) for n in range(CLIENTS)])

    assert {answer.status_code for answer in answers} == {200}
    shown = bob_api.get(f"/api/v1/memories/{memory}").json()
    assert shown["metadata"] == {f"by {n}": n for n in range(CLIENTS)}
    assert shown["version"] == CLIENTS + 1


def test_what_many_delete_leaves_once(send, together, project, alice):
    body = next(memories(0)) | {"project_id": str(project.pk)}
    send("memories", [body])
    memory = Memory.objects.get()

    answers = together(*[lambda: delete.delete_memory(memory.pk, alice)] * CLIENTS)

    assert Counter(answers) == {True: 1, False: CLIENTS - 1}
    told = MemoryChange.objects.filter(action=MemoryChange.Action.DELETE)
    assert told.count() == 1


def test_sixteen_writers_never_pass_a_quota(send, project):
    project.settings = {"quotas": {"memories": 20}}
    project.save()
    bodies = [
        {
            "project_id": str(project.pk),
            "memories": [
                {
                    "content": f"Crane {client * 71 + n * 13} has {client + 3} ropes, "
                    f"{n} of them red, says keeper {client * n + 100}",
                    "memory_type": "learning",
                }
                for n in range(3)
            ],
        }
        for client in range(CLIENTS)
    ]
    answers = send("memories/batch", bodies)

    results = [item for answer in answers for item in answer.json()["results"]]
    told = Counter(item["status_code"] for item in results)
    assert told == {201: 20, 409: CLIENTS * 3 - 20}
    assert Memory.objects.current().count() == 20
