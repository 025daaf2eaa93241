"""mem0's methods on many memories, on projects, and what is not offered."""

from __future__ import annotations

import pytest

from common.caller import Role
from mcp_server.mem0 import find, remove
from memories.models import Memory
from projects.models import Project

pytestmark = pytest.mark.django_db


def live():
    rows = Memory.objects.filter(deleted_at=None)
    return set(rows.values_list("content", flat=True))


@pytest.fixture
def stored(alice_mem0):
    """The ids of memories of two users, an agent, an app and a run, by their texts."""
    whose = {
        "ann": {"user_id": "ann"},
        "ann by bot": {"user_id": "ann", "agent_id": "bot"},
        "ben": {"user_id": "ben"},
        "ann in a run": {"user_id": "ann", "run_id": "r"},
        "a shop": {"app_id": "shop"},
        "everybody": {},
    }
    return {text: alice_mem0.add_one(text, **ids) for text, ids in whose.items()}


class TestDeleteAll:
    @pytest.mark.parametrize(
        ("query", "texts"),
        [
            ({"user_id": "ann"}, {"ann", "ann by bot"}),
            ({"user_id": "ann", "agent_id": "bot"}, {"ann by bot"}),
            ({"user_id": "ann", "run_id": "r"}, {"ann in a run"}),
            ({"user_id": "*"}, {"ann", "ann by bot", "ben"}),
            ({"app_id": "shop"}, {"a shop"}),
            # As httpx writes a dict of Python, and as JSON.
            ({"filters": "{'user_id': 'ben'}"}, {"ben"}),
            ({"filters": '{"OR": [{"user_id": "ben"}]}'}, {"ben"}),
            # What cannot be stored is replaced, as in a body.
            ({"filters": r"{'user_id':'\ud800'}"}, set()),
            ({"agent_id": "system"}, set()),
        ],
    )
    def test_it_deletes_what_is_named(self, alice_mem0, stored, query, texts):
        alice_mem0.delete_all(**query)

        assert live() == stored.keys() - texts

    @pytest.mark.parametrize(
        "query",
        [
            {},
            {"filters": "ann"},
            {"filters": "{'color': 'red'}"},
            {"user": "ann"},
            {"filters": "{}"},
            {"filters": '{"AND":[{}]}'},
            {"filters": '{"NOT":[{}]}'},
            {"filters": "{[]:1}"},
            {"filters": "{1:2}"},
            {"filters": "{'metadata':{1:{2}}}"},
            {"filters": "[" * 2_000},
            {"filters": '{"user_id": "ann", "user_id": "*"}'},
            # An id that is left out would delete what the agent stored for everybody.
            {"user_id": "", "agent_id": "bot"},
            {"filters": '{"NOT":[{"memory_ids":["typo"]}]}'},
        ],
    )
    def test_what_is_not_understood_deletes_nothing(self, alice_mem0, stored, query):
        assert alice_mem0.delete_all(**query, status=400)["detail"]
        assert live() == set(stored)

    def test_it_says_what_is_left(self, alice_mem0, stored):
        answer = alice_mem0.delete_all(user_id="ann")

        assert answer["deleted"] == 2
        assert answer["notes"][0].startswith("1 memories that match")
        answer = alice_mem0.delete_all(run_id="r")
        assert (answer["deleted"], answer["notes"][0][:2]) == (0, "1 ")
        assert "notes" not in alice_mem0.delete_all(run_id="r", user_id="*")

    def test_a_large_one_is_sent_again(self, alice_mem0, stored, monkeypatch):
        monkeypatch.setattr(remove, "MAX_AT_ONCE", 2)

        first, second = (alice_mem0.delete_all(user_id="*") for _ in range(2))

        assert (first["deleted"], second["deleted"]) == (2, 1)
        assert "send it again" in first["notes"][0]

    def test_only_a_curator_deletes_for_a_user(self, bob_mem0, stored):
        for query in ({"user_id": "ann"}, {"user_id": "*"}):
            assert bob_mem0.delete_all(**query, status=403)["code"] == "forbidden"
        assert live() == set(stored)

    def test_a_user_ends_a_run_of_its_own(self, mem0_of, project, stored):
        mem0_of(project, user_id="ann").delete_all(run_id="r")

        assert live() == stored.keys() - {"ann in a run"}


class TestEntities:
    def list(self, client, **query):
        return client.call("get", "/v1/entities/", **query)

    def test_they_are_listed_with_their_counts(self, alice_mem0, stored):
        answer = self.list(alice_mem0)

        found = {
            (each["type"], each["name"]): each["total_memories"]
            for each in answer["results"]
        }
        assert found == {
            ("user", "ann"): 3,
            ("user", "ben"): 1,
            ("agent", "bot"): 1,
            ("app", "shop"): 1,
            ("run", "r"): 1,
        }
        assert answer["count"] == 5

    def test_a_page_goes_over_their_kinds(self, alice_mem0, stored):
        names = [
            each["name"]
            for page in (1, 2, 3)
            for each in self.list(alice_mem0, page=page, page_size=2)["results"]
        ]

        assert names == ["ann", "ben", "bot", "shop", "r"]

    def test_nobody_else_sees_them(self, charlie_mem0, mem0_of, project, stored):
        bound = mem0_of(project, user_id="ben")

        assert self.list(charlie_mem0)["results"] == []
        assert "ann" not in str(self.list(bound))

    def test_a_user_goes_with_its_runs(self, alice_mem0, stored):
        path = "/v2/entities/user/ann/"

        assert alice_mem0.call("delete", path)["message"]
        assert live() == {"ben", "a shop", "everybody"}
        # A client that deletes them all comes to the run, of which nothing is left.
        assert alice_mem0.call("delete", "/v2/entities/run/r/")["message"]
        missing = alice_mem0.call("delete", "/v2/entities/user/eve/", status=404)
        assert missing["code"] == "not_found"

    def test_a_user_ends_its_own_run(self, mem0_of, alice_mem0, project, stored):
        alice_mem0.add_one("ben in a run", user_id="ben", run_id="r")
        ann = mem0_of(project, user_id="ann")

        assert ann.call("delete", "/v2/entities/run/r/")["deleted"] == 1
        assert live() == {*stored, "ben in a run"} - {"ann in a run"}

    def test_a_name_has_slashes_and_an_app_is_a_text(
        self, alice_mem0, bob_api, project
    ):
        alice_mem0.add_one("a path", agent_id="team/bot")
        ticket = {"kind": "object", "object_type": "ticket", "object_id": "7"}
        bob_api.post(
            "/api/v1/memories",
            {
                "project_id": str(project.pk),
                "content": "The ticket is about the gate.",
                "scope": ticket,
                "metadata": {"app_id": 7},
            },
            format="json",
        )

        listed = self.list(alice_mem0)["results"]
        assert [each["name"] for each in listed] == ["team/bot"]
        path = "/v2/entities/agent/team/bot/"
        assert alice_mem0.call("delete", path)["deleted"] == 1

    def test_who_is_no_agent_is_not_deleted_as_one(self, alice_mem0, bob_mem0, stored):
        name = Memory.objects.get(content="everybody").agent_id

        assert name.startswith("key:")
        alice_mem0.call("delete", f"/v2/entities/agent/{name}/", status=404)
        assert live() == set(stored)

    def test_only_a_curator_deletes_them(self, bob_mem0, charlie_mem0, stored):
        path = "/v2/entities/user/ann/"

        assert bob_mem0.call("delete", path, status=403)
        assert charlie_mem0.call("delete", path, status=404)
        assert live() == set(stored)

    def test_a_kind_that_there_is_not_is_not_found(self, alice_mem0):
        answer = alice_mem0.call("delete", "/v2/entities/king/ann/", status=404)

        assert "a user, an agent, an app or a run" in answer["detail"]


class TestBatches:
    def test_many_are_changed_and_deleted(self, bob_mem0, stored):
        changes = [
            {"memory_id": stored["ann"], "text": "Ann again"},
            {"memory_id": stored["ben"], "metadata": {"a": 1}},
        ]

        said = bob_mem0.call("put", "/v1/batch/", {"memories": changes})
        assert said["message"] == "Successfully updated 2 memories"
        assert bob_mem0.get(stored["ann"])["memory"] == "Ann again"
        assert bob_mem0.get(stored["ben"])["metadata"] == {"a": 1}
        gone = [{"memory_id": stored["ann"]}, {"memory_id": stored["ben"]}]
        bob_mem0.call("delete", "/v1/batch/", {"memories": gone})
        assert not live() & {"Ann again", "ben"}

    @pytest.mark.parametrize("method", ["put", "delete"])
    def test_one_that_is_missing_changes_none(
        self, bob_mem0, charlie_mem0, stored, method
    ):
        own = charlie_mem0.add_one("Charlie's own")
        more = {"text": "changed"} if method == "put" else {}
        items = [{"memory_id": pk, **more} for pk in (stored["ann"], own)]

        answer = bob_mem0.call(method, "/v1/batch/", {"memories": items}, status=404)

        assert answer["missing_ids"] == [own]
        assert live() == {*stored, "Charlie's own"}

    def test_one_that_is_refused_changes_none(self, bob_mem0, project, stored):
        project.settings = {"secrets": "reject"}
        project.save()
        texts = ["Changed.", "It is ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eFxQ2w."]
        items = [
            {"memory_id": stored[name], "text": text}
            for name, text in zip(("ann", "ben"), texts, strict=True)
        ]

        assert bob_mem0.call("put", "/v1/batch/", {"memories": items}, status=422)
        assert live() == set(stored)

    @pytest.mark.parametrize("memories", [[], [{"text": "x"}], [{"memory_id": "x"}]])
    def test_a_bad_one_is_refused(self, bob_mem0, memories):
        answer = bob_mem0.call("put", "/v1/batch/", {"memories": memories}, status=400)

        assert answer["errors"]


class TestFeedback:
    def send(self, client, status=200, **body):
        return client.call("post", "/v1/feedback/", body, status)

    def test_praise_confirms_a_memory(self, bob_mem0, charlie_mem0, stored):
        body = {"memory_id": stored["ann"], "feedback": "POSITIVE"}

        assert self.send(charlie_mem0, status=404, **body)
        self.send(bob_mem0, **body, feedback_reason="She said so.")

        assert Memory.objects.get(pk=stored["ann"]).verified_at
        assert bob_mem0.history(stored["ann"])[-1]["event"] == "VERIFY"

    @pytest.mark.parametrize("feedback", ["NEGATIVE", "VERY_NEGATIVE", None])
    def test_blame_names_the_mend(self, bob_mem0, stored, feedback):
        body = {"memory_id": stored["ann"], "feedback": feedback}

        assert "update or delete" in self.send(bob_mem0, status=400, **body)["detail"]


class TestProjects:
    def path(self, project, org_id=None):
        org_id = org_id or project.organization_id
        return f"/api/v1/orgs/organizations/{org_id}/projects/{project.pk}/"

    def test_its_name_is_read(self, bob_mem0, project):
        shown = bob_mem0.call("get", self.path(project), fields="name")

        assert shown == {"name": "alpha"}
        assert bob_mem0.call("get", self.path(project), status=400, org_id="other")

    def test_a_host_and_a_path_name_one_project(self, mem0_of, project, other_project):
        both = mem0_of(project, other_project, base=f"/mem0/{other_project.name}")

        assert both.call("get", self.path(project), status=400)["errors"]

    def test_it_is_hidden_from_others(self, charlie_mem0, project, other_project):
        for org_id in (None, other_project.organization_id):
            path = self.path(project, org_id)

            assert charlie_mem0.call("get", path, status=404)
            assert charlie_mem0.call("delete", path, status=404)

    def test_its_owner_deletes_it(self, bob_mem0, alice_mem0, project):
        assert bob_mem0.call("delete", self.path(project), status=403)
        assert alice_mem0.call("delete", self.path(project))["message"]
        assert Project.objects.get().delete_after

    def test_a_key_of_everything_creates_one(self, mem0_of, alice_mem0, project):
        path = self.path(project).removesuffix(f"{project.pk}/")
        root = mem0_of(role=Role.OWNER, base=f"/mem0/{project.name}")

        assert alice_mem0.call("post", path, {"name": "beta"}, status=403)
        made = root.call("post", path, {"name": "beta"})

        assert Project.objects.get(pk=made["project_id"]).name == "beta"
        assert made["org_id"] == str(project.organization_id)

    def test_its_settings_are_changed_elsewhere(self, alice_mem0, project):
        body = {"custom_instructions": "Be brief."}
        answer = alice_mem0.call("patch", self.path(project), body, status=501)

        assert answer["code"] == "not_offered"
        assert "/settings" in answer["detail"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("post", "/v1/exports/"),
        ("post", "/v1/exports/get/"),
        ("post", "/v1/summary/"),
        ("get", "/v2/entities/user/ann/profile/"),
        ("post", "/v2/profiles/jobs/"),
        ("get", "/v2/profiles/jobs/one/"),
        ("post", "/v2/profiles/settings/"),
        ("get", "/api/v1/webhooks/projects/alpha/"),
        ("put", "/api/v1/webhooks/7/"),
    ],
)
def test_what_is_not_offered_says_what_to_use(bob_mem0, method, path):
    answer = bob_mem0.call(method, path, {"schema": {}}, status=501)

    assert answer["code"] == "not_offered"
    assert "not offered" in answer["detail"]


def test_an_error_outside_of_a_view_is_json_too(bob_mem0, monkeypatch):
    assert bob_mem0.call("get", "/v3/nothing/", status=404)["code"] == "no_such_route"
    bob_mem0.api.raise_request_exception = False
    monkeypatch.setattr(find, "find_memory", None)

    answer = bob_mem0.api.get("/v1/memories/one/")

    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert answer.headers["Content-Type"] == "application/json"
