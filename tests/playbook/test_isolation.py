from __future__ import annotations

import pytest

from memories import scopes
from memories.store import write
from memories.store.drafts import Draft
from playbook.history import votes
from playbook.history.revision import Cause
from playbook.lessons import person_edits
from playbook.models import PlaybookDelta
from tests.playbook.conftest import propose

URL = "/api/v1/playbook"


@pytest.fixture
def alices(project, bob, learned, write):
    """An entry and a waiting delta of Alice's project."""
    [delta] = propose(project, [learned(feedback_source="agent")], bob)
    return write("Keep the plan of project alpha secret."), delta


class TestOtherProjects:
    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("get", "/playbook/rules/{entry}"),
            ("patch", "/playbook/rules/{entry}"),
            ("delete", "/playbook/rules/{entry}"),
            ("get", "/playbook/rules/{entry}/history"),
            ("get", "/proposals/{delta}"),
            ("post", "/proposals/{delta}/accept"),
            ("post", "/proposals/{delta}/edit"),
            ("post", "/proposals/{delta}/merge"),
            ("post", "/proposals/{delta}/reject"),
            ("post", "/proposals/{delta}/undo"),
            ("get", "/playbook?project_id={project}"),
            ("get", "/playbook/changes?project_id={project}"),
            ("get", "/playbook/render?project_id={project}"),
            ("get", "/proposals?project_id={project}"),
        ],
    )
    def test_charlie_finds_nothing(self, charlie_api, project, alices, method, path):
        entry, delta = alices
        url = path.format(entry=entry.pk, delta=delta.pk, project=project.pk)

        answer = getattr(charlie_api, method)(f"/api/v1{url}")

        assert answer.status_code == 404
        assert "alpha secret" not in str(answer.json())

    def test_charlie_decides_about_nothing_in_bulk(
        self, charlie_api, other_project, alices
    ):
        _, delta = alices
        body = {"project_id": other_project.pk, "action": "accept", "ids": [delta.pk]}

        [item] = charlie_api.post("/api/v1/proposals/bulk", body).json()["results"]

        assert item["problem"]["status"] == 404
        assert PlaybookDelta.objects.get(pk=delta.pk).status == "pending"

    def test_charlies_search_and_filters_see_only_his_own(
        self, charlie_api, other_project, alices
    ):
        entry, _ = alices
        own = {"project_id": other_project.pk}

        for path, query in (
            ("/playbook", {"q": entry.content}),
            ("/playbook/render", {"task": entry.content}),
            ("/playbook/changes", {"entry": entry.pk}),
            ("/proposals", {"entry": entry.pk}),
        ):
            answer = charlie_api.get(f"/api/v1{path}", own | query)
            assert answer.status_code == 200
            assert "alpha secret" not in str(answer.json())


class TestOtherUsers:
    @pytest.fixture
    def private(self, project, bob):
        draft = Draft(
            content="What user one did privately.",
            memory_type="learning",
            scope=scopes.Scope("user", "u1"),
        )
        return write.store(project, draft, bob).memory

    def test_a_bound_user_sees_nothing_of_anothers_memory(
        self, client_of, project, bob, learned, private, write
    ):
        entry = write()
        vote = learned(entry.content, memory_id=private.pk)
        [delta] = propose(project, [vote], bob)
        other = client_of(project, user_id="u2")

        pages = [
            other.get(f"/api/v1{path}", {"project_id": project.pk})
            for path in ("/playbook", "/playbook/changes", "/proposals")
        ]
        pages.append(other.get(URL, {"project_id": project.pk, "revision": 2}))
        pages.append(other.get(f"{URL}/rules/{entry.pk}"))
        pages.append(other.get(f"{URL}/rules/{entry.pk}/history"))

        assert all(page.status_code == 200 for page in pages)
        assert str(private.pk) not in str([page.json() for page in pages])
        assert other.get(f"/api/v1/proposals/{delta.pk}").status_code == 404

    def test_a_merge_names_no_memory_of_another_user(
        self, client_of, project, alice, bob, private, memory, write
    ):
        kept, taken = write("Run `make a` first."), write("Run `make b` first.")
        votes.record(project, [], [taken.pk], Cause(memory_id=private.pk), bob)
        merge = person_edits.person_change(
            "merge",
            {},
            alice,
            reason="",
            entry=kept,
            targets=({"id": str(taken.pk)},),
            memory_id=memory.pk,
        )
        person_edits.submit_edit(project, merge, alice)

        listed = client_of(project, user_id="u2").get(
            f"{URL}/changes", {"project_id": project.pk}
        )

        assert str(memory.pk) in str(listed.json())
        assert str(private.pk) not in str(listed.json())

    def test_the_user_sees_the_own_memory(
        self, client_of, project, bob, learned, private, write
    ):
        entry = write()
        vote = learned(entry.content, memory_id=private.pk)
        propose(project, [vote], bob)

        shown = client_of(project, user_id="u1").get(f"{URL}/rules/{entry.pk}").json()

        assert shown["supporting_memory_ids"] == [str(private.pk)]
