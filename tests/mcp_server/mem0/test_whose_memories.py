"""Alice owns, Bob shares, Charlie must not see; a bound key reaches its user only."""

from __future__ import annotations

import pytest

from common.caller import Role
from memories.models import Memory
from tests.isolation.test_secrets_at_every_route import TOKEN, stored_in

pytestmark = pytest.mark.django_db
TEXT = "The safe is behind the grey wall."
EVERYBODY = {
    "OR": [{name: "*"} for name in ("user_id", "agent_id", "app_id", "run_id")]
}


@pytest.fixture
def hidden(alice_mem0):
    """A memory of the user Ann in Alice's project."""
    return alice_mem0.add_one(TEXT, user_id="ann", agent_id="bot")


class TestCharlie:
    def test_it_sees_and_changes_nothing(self, hidden, charlie_mem0):
        refused = [
            charlie_mem0.get(hidden, status=404),
            charlie_mem0.history(hidden, status=404),
            charlie_mem0.update(hidden, text="Gone.", status=404),
            charlie_mem0.delete(hidden, status=404),
        ]
        found = charlie_mem0.search("safe", filters=EVERYBODY)["results"]
        listed = charlie_mem0.get_all(filters=EVERYBODY)

        assert TEXT not in str(refused)
        assert (found, listed["count"], listed["results"]) == ([], 0, [])
        assert Memory.objects.get(pk=hidden).version == 1

    def test_the_name_of_the_project_is_no_way_in(self, hidden, charlie_mem0, project):
        for named in (project.name, str(project.pk)):
            charlie_mem0.base = f"/mem0/{named}"

            assert charlie_mem0.ping(status=404)["code"] == "not_found"
            assert charlie_mem0.get_all(status=404, filters=EVERYBODY)

    def test_a_key_of_both_projects_reads_the_one_it_names(
        self, hidden, mem0_of, project, other_project
    ):
        of_both = mem0_of(project, other_project, base=f"/mem0/{other_project.name}")

        assert of_both.get(hidden, status=404)
        assert of_both.get_all(filters=EVERYBODY)["count"] == 0
        of_both.base = f"/mem0/{project.name}"
        assert of_both.get(hidden)["memory"] == TEXT


class TestAUsersKey:
    @pytest.fixture
    def ben(self, mem0_of, project):
        return mem0_of(project, role=Role.OWNER, user_id="ben")

    def test_it_reads_no_other_user(self, hidden, ben):
        assert ben.get(hidden, status=404)
        for filters in (EVERYBODY, {"user_id": "ann"}, {"user_id": {"in": ["ann"]}}):
            assert ben.get_all(filters=filters)["count"] == 0
            assert ben.search("safe", filters=filters)["results"] == []

    def test_it_writes_in_its_own_name_only(self, ben):
        own = ben.add_one("I am Ben.")

        assert Memory.objects.get(pk=own).scope == {"kind": "user", "user_id": "ben"}
        assert ben.texts() == {"I am Ben."}
        assert ben.add("I am Ann.", user_id="ann", status=404)["code"] == "not_found"


def test_an_agents_key_writes_as_no_other(mem0_of, project):
    bot = mem0_of(project, agent_id="bot")

    assert bot.get(bot.add_one("I am the bot."))["agent_id"] == "bot"
    answer = bot.add("I am another.", agent_id="other", status=403)
    assert answer["code"] == "agent_mismatch"


def test_no_field_stores_a_secret(alice_mem0):
    """The schema, by which every route is tried, does not have these routes."""
    text = f"The token is {TOKEN}."
    memory_id = alice_mem0.add_one(
        text, user_id=TOKEN, agent_id=TOKEN, app_id=TOKEN, metadata={"note": text}
    )
    ours = {"memory_id": memory_id, "feedback": "POSITIVE", "feedback_reason": text}

    alice_mem0.update(memory_id, text=f"{text} It is new.", metadata={"more": text})
    alice_mem0.call("post", "/v1/feedback/", ours)
    shown = alice_mem0.search(text, filters={"user_id": TOKEN})

    assert memory_id in str(shown)
    assert TOKEN not in str(shown)
    assert stored_in(TOKEN) == []
