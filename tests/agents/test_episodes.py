from __future__ import annotations

import pytest

from agents.tiers.episodes import EPISODE, EpisodeDraft, store_episode
from agents.tiers.tier_search import TierQuery, search_tier
from common.caller import Role
from conversations.invocations.switch import set_memory
from memories.models import Memory
from memories.store.drafts import MAX_CONTENT
from tests.agents.test_facts import SeedApi

pytestmark = pytest.mark.django_db
EPISODES = "/api/v1/episodes"
DEPLOY = {
    "goal": "Deploy the docs to staging.",
    "steps": ["Ran make deploy", "Raised the quota to 2 GB"],
    "outcome": "It was deployed at the second attempt.",
    "lessons": "The build needs two gigabytes.",
}
LUNCH = {"goal": "Book a table for lunch.", "outcome": "The table was full."}


@pytest.fixture
def seed(alice_api):
    return SeedApi(alice_api)


def store(seed, **fields):
    answer = seed.post("episodes", **fields)
    assert answer.status_code in (200, 201), answer.json()
    return answer.json()


def goals(seed, path="episodes/retrieve", **fields):
    answer = seed.post(path, **fields)
    assert answer.status_code == 200, answer.json()
    return [each["goal"] for each in answer.json()["episodes"]]


class TestStore:
    def test_its_content_is_made_of_the_four_parts(self, seed):
        answer = store(seed, **DEPLOY, metadata={"a": 1}, source="chat-7")

        memory = Memory.objects.get(pk=answer["episode_id"])
        assert answer["error"] is None
        assert (memory.kind, memory.scope_kind) == ("episode", "workspace")
        assert memory.content == (
            "Goal: Deploy the docs to staging.\n"
            "Steps: Ran make deploy\nRaised the quota to 2 GB\n"
            "Outcome: It was deployed at the second attempt.\n"
            "Lessons: The build needs two gigabytes."
        )
        assert memory.steps == DEPLOY["steps"]
        assert memory.created_in_session_id == "chat-7"

    def test_a_goal_is_enough_and_is_needed(self, seed):
        assert store(seed, goal="Try")["status"] == "stored"

        answer = seed.post("episodes", outcome="It went well")
        assert "goal" in answer.json()["errors"]

    def test_content_is_not_sent(self, seed):
        answer = seed.post("episodes", content="x", **DEPLOY)

        assert answer.json()["code"] == "unknown_field"

    def test_long_parts_are_all_kept(self, seed):
        parts = {name: f"{name} " * 2_000 for name in ("goal", "outcome", "lessons")}
        steps = ["step " * 900] * 20

        answer = store(seed, steps=steps, **parts)

        memory = Memory.objects.get(pk=answer["episode_id"])
        assert len(memory.content) == MAX_CONTENT
        assert len(memory.steps) == 20
        assert memory.lessons.startswith("lessons lessons")

    @pytest.mark.parametrize(
        "fields",
        [
            {"steps": "Ran make"},
            {"steps": [{"a": 1}]},
            {"steps": ["x"] * 501},
            {"steps": ["x" * 5_001]},
            {"lessons": "x" * 20_001},
        ],
    )
    def test_a_wrong_part_is_refused(self, seed, fields):
        answer = seed.post("episodes", **DEPLOY | fields)

        assert answer.status_code == 400
        assert not Memory.objects.exists()

    def test_an_episode_of_a_user_is_the_users(self, seed):
        episode_id = store(seed, user="ann", **DEPLOY)["episode_id"]

        assert Memory.objects.get(pk=episode_id).scope["user_id"] == "ann"
        assert goals(seed, query="deploy") == []
        assert goals(seed, query="deploy", user="ann") == [DEPLOY["goal"]]


class TestFind:
    @pytest.mark.parametrize(
        "query", ["docs staging", "raised quota", "second attempt", "two gigabytes"]
    )
    def test_each_part_is_searched(self, seed, query):
        store(seed, **DEPLOY)
        store(seed, **LUNCH)

        answer = seed.post("episodes/retrieve", query=query, top_k=1)

        (episode,) = answer.json()["episodes"]
        assert episode["goal"] == DEPLOY["goal"]
        assert "<mark>" in episode["snippet"]

    def test_three_are_the_default(self, seed):
        for n in range(5):
            store(seed, goal=f"Deploy the docs, attempt {n}.")

        assert len(goals(seed, query="deploy the docs")) == 3

    def test_a_search_filters_by_outcome_tags_and_dates(self, seed):
        store(seed, **DEPLOY, tags=["deploy"])
        store(seed, **LUNCH, tags=["food"])
        search = "episodes/search"

        assert goals(seed, search, query="table deploy", outcome="SECOND") == [
            DEPLOY["goal"]
        ]
        assert goals(seed, search, query="table deploy", tags=["food"]) == [
            LUNCH["goal"]
        ]
        later = "2100-01-01T00:00:00Z"
        assert goals(seed, search, query="deploy", date_from=later) == []
        assert len(goals(seed, search, query="table deploy", date_to=later)) == 2

    def test_an_outcome_with_signs_of_a_pattern_is_plain_text(self, seed):
        store(seed, goal="Measure", outcome="It took 100% of an_hour")

        def found(outcome):
            return goals(seed, "episodes/search", query="measure", outcome=outcome)

        assert found("100%") == ["Measure"]
        assert found("an_hour") == ["Measure"]
        assert found("1%0") == []

    def test_a_search_has_the_lanes_and_operators_of_search(self, seed):
        store(seed, **DEPLOY)
        store(seed, **LUNCH)

        def found(query, **options):
            return goals(seed, "episodes/search", query=query, **options)

        assert found("table", mode="keyword") == [LUNCH["goal"]]
        assert found("deploy -staging", syntax="operators", mode="keyword") == []


class TestWho:
    def test_charlie_and_other_users_find_nothing(
        self, seed, client_of, project, charlie_api
    ):
        episode_id = store(seed, user="ann", **DEPLOY)["episode_id"]
        ben = SeedApi(client_of(project, role=Role.OWNER, user_id="ben"))
        charlie = SeedApi(charlie_api)

        for stranger in (ben, charlie):
            assert stranger.client.get(f"{EPISODES}/{episode_id}").status_code == 404
            assert stranger.client.delete(f"{EPISODES}/{episode_id}").status_code == 404
            for path in ("episodes/retrieve", "episodes/search"):
                answer = stranger.post(path, query="deploy", user="ann")
                assert answer.status_code == 404
        assert goals(ben, query="deploy") == []
        assert Memory.objects.get(pk=episode_id).deleted_at is None

    def test_it_is_read_and_deleted_by_its_id(self, seed, alice_api):
        episode_id = store(seed, **DEPLOY)["episode_id"]
        url = f"{EPISODES}/{episode_id}"

        assert alice_api.get(url).json()["episode"]["steps"] == DEPLOY["steps"]
        assert alice_api.delete(url).json()["status"] == "deleted"
        assert alice_api.get(url).status_code == 404
        assert goals(seed, query="deploy") == []


class TestMemoryOff:
    def test_nothing_is_read_or_stored(self, seed, project, alice):
        store(seed, **LUNCH)
        set_memory(project, "ann", False, alice)

        refusal = seed.post("episodes", user="ann", **DEPLOY)
        answer = seed.post("episodes/search", query="lunch", user="ann").json()

        assert refusal.json()["code"] == "memory_off"
        assert answer["episodes"] == []
        assert "memory is off" in answer["notes"][0]


class TestTheFunctions:
    def test_what_is_stored_is_retrieved(self, project, alice):
        stored = store_episode(project, EpisodeDraft(**DEPLOY), alice)

        hits = search_tier(
            project, alice, TierQuery("deploy the docs"), kind=EPISODE
        ).hits

        assert [hit.memory.pk for hit in hits] == [stored.pk]


class TestFinishedTasks:
    @pytest.fixture
    def post(self, alice_api, project):
        def sent(path, **body):
            body |= {"project_id": str(project.pk)}
            answer = alice_api.post(f"/api/v1/{path}", body, format="json")
            assert answer.status_code in (200, 201), answer.json()
            return answer.json()

        return sent

    @pytest.fixture
    def task_id(self, post):
        report = {
            "agent_id": "coder",
            "goal": "Make the invoice export retry",
            "result": "It retries when the gateway answers 503.",
            "tool_usage": [{"tool_name": "Edit", "arguments": {"path": "shop/pay.py"}}],
            "feedback": "Always tell Ana before you touch it.",
            "feedback_source": "human",
            "outcome": "success",
        }
        return post("complete-task", **report)["memory_id"]

    def test_one_is_found_and_read_as_an_episode(self, seed, task_id):
        found = seed.post("episodes/retrieve", query="Why does the export not retry?")

        [episode] = found.json()["episodes"]
        read = seed.client.get(f"{EPISODES}/{task_id}").json()["episode"]
        assert episode["id"] == read["id"] == task_id
        assert read["goal"] == "Make the invoice export retry"
        assert read["steps"] == ['Edit {"path": "shop/pay.py"}']
        assert read["outcome"] == "success: It retries when the gateway answers 503."
        assert "Ana" not in str(read)

    def test_one_is_deleted_as_an_episode(self, seed, task_id):
        assert seed.client.delete(f"{EPISODES}/{task_id}").status_code == 200

        assert goals(seed, query="invoice export") == []

    def test_a_note_about_a_task_is_none(self, seed, post):
        note = {"content": "The gateway answers 503 at night.", "goal": "Mend the gate"}
        post("memories", memory_type="learning", **note)

        assert goals(seed, query="gateway at night") == []
