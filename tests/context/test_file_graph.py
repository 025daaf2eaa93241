from __future__ import annotations

import pytest

from memories.lifecycle import delete
from memories.store import write
from memories.store.drafts import Draft, FileRef

URL = "/api/v1/files/graph"


@pytest.fixture
def store(project, alice):
    def make(content, *files, **fields):
        draft = Draft(
            content=content,
            memory_type=fields.pop("memory_type", "learning"),
            files=files,
            **fields,
        )
        return write.store(project, draft, alice).memory

    return make


@pytest.fixture
def graph(alice_api, project):
    def get(path, api=alice_api):
        return api.get(URL, {"project_id": str(project.pk), "path": path})

    return get


class TestGraph:
    def test_it_groups_memories_by_relation(self, store, graph):
        read = store(
            "The parser skips blank lines at the end.", FileRef("p.py", "read")
        )
        wrote = store("The parser now keeps comments.", FileRef("p.py", "modified"))

        answer = graph("p.py").json()

        ids = {k: [m["id"] for m in v] for k, v in answer["memories"].items()}
        assert ids == {"read": [str(read.pk)], "modified": [str(wrote.pk)]}
        assert answer["stats"]["memory_count"] == 2

    def test_related_files_have_a_strength(self, store, graph):
        store("The lexer feeds the parser.", FileRef("p.py"), FileRef("l.py"))
        store("The parser builds the tree.", FileRef("p.py"))

        related = graph("p.py").json()["related_files"]

        assert related == [{"file_path": "l.py", "shared_memories": 1, "strength": 0.5}]

    def test_it_shows_the_entries_that_its_memories_support(
        self, alice_api, project, graph
    ):
        made = alice_api.post(
            "/api/v1/complete-task",
            {
                "project_id": str(project.pk),
                "agent_id": "a",
                "goal": "Set the version",
                "result": "Set it.",
                "outcome": "success",
                "feedback": "1 passed, 0 failed",
                "feedback_source": "test",
                "tool_usage": [
                    {
                        "tool_name": "Edit",
                        "arguments": {"file_path": "v.py", "mode": "w"},
                        "result": "Error: invalid mode 'w', expected 'replace'",
                    },
                    {
                        "tool_name": "Edit",
                        "arguments": {"file_path": "v.py", "mode": "replace"},
                        "result": "The file v.py has been updated.",
                    },
                ],
            },
        ).json()
        assert made["updated_bullets"], made["playbook_delta"]

        entries = graph("v.py").json()["playbook_entries"]

        assert [e["label"] for e in entries] == [made["updated_bullets"][0]["label"]]

    def test_an_unknown_file_is_a_404(self, graph):
        assert graph("nothing.py").status_code == 404

    def test_charlie_sees_no_file_of_alice(self, store, graph, charlie_api):
        store("The parser skips blank lines at the end.", FileRef("p.py"))

        assert graph("p.py", api=charlie_api).status_code == 404

    def test_duplicates_and_deleted_rows_do_not_count(self, store, graph, alice):
        store("The parser skips blank lines at the end.", FileRef("p.py"))
        store("The parser skips blank lines at the end.", FileRef("p.py"))
        gone = store("The parser is written in Rust now.", FileRef("p.py"))
        delete.delete_memory(gone.pk, alice)

        assert graph("p.py").json()["stats"]["memory_count"] == 1
