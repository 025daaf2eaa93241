from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ace.models import AceRun
from common.caller import Role
from memories.models import Memory, Tag
from memories.scopes import Scope
from tests.memories.conftest import lines

pytestmark = pytest.mark.django_db


@pytest.fixture
def post(alice_api, project):
    def send(text, path="memories", client=alice_api, **fields):
        body = {
            "project_id": str(project.pk),
            "memory_type": "learning",
            "content": text,
            **fields,
        }
        return client.post(f"/api/v1/{path}", body)

    return send


@pytest.fixture
def full(options, stored):
    """All places are taken."""
    options(quotas={"memories": 11})
    return stored(*lines(11))


class TestWriting:
    def test_a_full_quota_refuses_with_the_mend(self, full, post):
        answer = post("One memory more than there is room for.", tags=["unseen"])

        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (409, "quota_exceeded")
        assert (problem["quota"], problem["limit"], problem["used"]) == (
            "memories",
            11,
            11,
        )
        assert "raise the quota" in problem["detail"]
        assert Memory.objects.count() == 11
        assert not Tag.objects.filter(name="unseen").exists()

    def test_a_batch_is_told_item_by_item(self, options, post, alice_api, project):
        options(quotas={"memories": 2})
        items = [{"content": t, "memory_type": "learning"} for t in lines(4)]
        body = {"project_id": str(project.pk), "memories": items}

        results = alice_api.post("/api/v1/memories/batch", body).json()["results"]

        assert [r["status_code"] for r in results] == [201, 201, 409, 409]
        assert results[2]["problem"]["code"] == "quota_exceeded"
        assert Memory.objects.count() == 2

    def test_what_repeats_a_text_is_taken(self, full, post):
        answer = post(full[0].content)

        assert (answer.status_code, answer.json()["status"]) == (200, "duplicate")

    def test_a_repetition_takes_no_place_from_the_next_of_its_batch(
        self, options, stored, alice_api, project
    ):
        options(quotas={"memories": 11})
        known = stored(*lines(10))
        texts = [known[0].content, known[1].content, "This one is really new here."]
        items = [{"content": t, "memory_type": "learning"} for t in texts]
        body = {"project_id": str(project.pk), "memories": items}

        results = alice_api.post("/api/v1/memories/batch", body).json()["results"]

        assert [r["status"] for r in results] == ["duplicate", "duplicate", "stored"]

    def test_a_fact_that_replaces_an_older_one_is_taken(self, options, stored, post):
        options(quotas={"memories": 1})
        fact = {"kind": "fact", "key": "hall.colour"}
        stored("Green", **fact, value="green")

        answer = post("Blue", **fact, value="blue")

        assert (answer.status_code, answer.json()["status"]) == (200, "superseded_key")

    def test_a_promotion_needs_room_unless_it_takes_the_originals_place(
        self, options, stored, alice_api
    ):
        options(quotas={"memories": 1})
        memory = stored(*lines(1), scope=Scope("user", "ann"))[0]
        url = f"/api/v1/memories/{memory.pk}/promote"
        body = {"target_scope": {"kind": "workspace"}}

        refused = alice_api.post(url, body)
        moved = alice_api.post(url, body | {"delete_original": True})

        assert (refused.status_code, refused.json()["code"]) == (409, "quota_exceeded")
        assert moved.status_code == 201

    def test_what_left_makes_room(self, full, post, alice_api):
        alice_api.delete(f"/api/v1/memories/{full[0].pk}")

        assert post("Now there is room for one more memory.").status_code == 201

    def test_a_restored_memory_is_never_refused(self, full, post, alice_api):
        url = f"/api/v1/memories/{full[0].pk}"
        alice_api.delete(url)
        post("Now there is room for one more memory.")

        assert alice_api.post(f"{url}/restore").status_code == 200

    def test_without_quotas_no_row_of_the_project_is_held(self, post):
        with CaptureQueriesContext(connection) as asked:
            post("Nobody has set a quota for this project.")

        held = [q["sql"] for q in asked if "FOR NO KEY UPDATE" in q["sql"]]
        assert not [sql for sql in held if "projects_project" in sql]


class TestUsersAndKinds:
    def test_a_kind_has_its_own(self, options, post):
        options(quotas={"per_kind": {"episode": 1}})
        post("The first episode.", kind="episode")

        refused = post("The second episode.", kind="episode")

        assert refused.json()["of"] == "episode"
        assert post("A note is another kind.", kind="note").status_code == 201

    @pytest.mark.parametrize(
        "owned",
        [
            {"user_id": "ann"},
            {"scope": {"kind": "user", "user_id": "ann"}},
            {"scope": {"kind": "session", "session_id": "s1", "user_id": "ann"}},
        ],
        ids=["column", "user scope", "session scope"],
    )
    def test_a_user_has_its_own_however_it_is_named(self, options, post, owned):
        options(quotas={"per_user": 1})
        post("Ann keeps the keys of hall 11.", scope={"kind": "user", "user_id": "ann"})

        refused = post("Ann keeps no other keys at all.", **owned)
        others = {"scope": {"kind": "user", "user_id": "ben"}}

        assert (refused.status_code, refused.json()["of"]) == (409, "ann")
        assert post("Ben keeps the keys of hall 12.", **others).status_code == 201
        assert post("Nobody in particular keeps these.").status_code == 201


class TestACompletedTask:
    TASK = {"goal": "Paint hall 11", "result": "Hall 11 is painted green"}

    def test_its_run_and_its_memory_are_kept_without_taking_a_place(
        self, full, alice_api, project
    ):
        body = {"project_id": str(project.pk), **self.TASK}
        answer = alice_api.post("/api/v1/complete-task", body)

        assert answer.status_code == 200
        told = answer.json()
        assert any("archived at once" in note for note in told["notes"])
        assert AceRun.objects.get().state == "done"
        memory = Memory.objects.get(pk=told["memory_id"])
        assert memory.archived_at
        assert Memory.objects.current().count() == 11

    def test_its_memory_can_be_brought_back(self, full, alice_api, project):
        body = {"project_id": str(project.pk), **self.TASK}
        told = alice_api.post("/api/v1/complete-task", body).json()

        url = f"/api/v1/memories/{told['memory_id']}/restore"

        assert alice_api.post(url).status_code == 200
        assert Memory.objects.current().filter(pk=told["memory_id"]).exists()


class TestUsage:
    def test_it_tells_of_each_quota(self, options, stored, alice_api, project):
        stored(*lines(4), scope=Scope("user", "ann"))
        options(quotas={"memories": 4, "per_user": 2, "per_kind": {"fact": 9}})

        asked = {"project_id": str(project.pk)}
        told = alice_api.get("/api/v1/quotas", asked).json()["quotas"]

        assert [(q["name"], q["of"], q["limit"], q["used"]) for q in told] == [
            ("memories", "", 4, 4),
            ("per_kind", "fact", 9, 0),
            ("per_user", "ann", 2, 4),
        ]
        assert [q["is_full"] for q in told] == [True, False, True]

    def test_a_bound_user_sees_no_other_user(self, options, stored, client_of, project):
        options(quotas={"per_user": 2})
        for user in ("ann", "ben"):
            stored(*lines(1), scope=Scope("user", user))
        client = client_of(project, role=Role.VIEWER, user_id="ann")

        told = client.get("/api/v1/quotas", {"project_id": str(project.pk)}).json()

        assert [quota["of"] for quota in told["quotas"]] == ["ann"]

    def test_a_stranger_sees_none(self, charlie_api, project):
        asked = {"project_id": str(project.pk)}

        assert charlie_api.get("/api/v1/quotas", asked).status_code == 404
