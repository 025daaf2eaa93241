from __future__ import annotations

import pytest

from common.caller import Role
from memories import writing
from memories.drafts import Draft, FileRef

URL = "/api/v1/context/task"


@pytest.fixture
def know(project, alice):
    for content, path in [
        ("Retry the invoice export when the gateway answers 503.", "billing/export.py"),
        ("The invoice export writes one file per customer.", "billing/export.py"),
        ("The avatar cropper needs square pictures.", "avatars/crop.py"),
    ]:
        draft = Draft(
            content=content, memory_type="learning", files=(FileRef(path, "modified"),)
        )
        writing.store(project, draft, alice)


@pytest.fixture
def ask(alice_api, project):
    def post(description, api=alice_api, **fields):
        body = {"project_id": str(project.pk), "task_description": description}
        return api.post(URL, body | fields)

    return post


@pytest.mark.usefixtures("know")
class TestContext:
    def test_it_gives_memories_and_the_files_they_point_to(self, ask):
        answer = ask("make the invoice export retry").json()

        assert "invoice export" in answer["memories"][0]["memory"]["content"]
        assert answer["files"][0]["file_path"] == "billing/export.py"
        assert answer["files"][0]["score"] == 1.0

    def test_a_file_that_the_task_names_comes_first(self, ask):
        answer = ask("crop in avatars/crop.py before the invoice export").json()

        assert answer["files"][0]["file_path"] == "avatars/crop.py"
        assert answer["files"][0]["reason"] == "named in the task"

    def test_it_never_gives_more_than_asked_for(self, ask):
        assert len(ask("invoice export", top_k=1).json()["memories"]) == 1

    def test_the_token_budget_holds(self, ask):
        answer = ask("invoice export", token_budget=15).json()

        assert answer["tokens"] <= 15
        assert answer["omitted"] > 0

    def test_charlie_gets_nothing(self, ask, charlie_api):
        assert ask("invoice export", api=charlie_api).status_code == 404

    def test_a_viewer_may_ask(self, ask, client_of, project):
        assert ask("x", api=client_of(project, role=Role.VIEWER)).status_code == 200
