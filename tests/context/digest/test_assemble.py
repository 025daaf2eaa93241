from __future__ import annotations

import re
from pathlib import Path

import pytest

from common.text import prompt_injection
from common.text.visible import drop_invisible
from context.digest import assemble
from context.models import DigestConfig
from inference.embedding import fake

URL = "/api/v1/context"
CONFIG = "/api/v1/context/digest-config"
MARKED = re.compile(r"\[neutralised: .*?\](?=\W|$)")
ATTACKS = (Path(__file__).parent / "attacks.txt").read_text().split("\n")[:-1]
HIDDEN = [attack for attack in ATTACKS if drop_invisible(attack) != attack]


@pytest.fixture
def body(project):
    return {"project_id": str(project.pk), "query": "deploys", "parts": ["digest"]}


class TestDigest:
    def test_each_line_has_its_cost_and_its_sources(self, remember, alice_api, body):
        memory = remember("Deploys happen on Friday.")

        answer = alice_api.post(URL, body).json()

        line = answer["text"].splitlines()[1]
        [told] = answer["items"]
        assert told["id"] == str(memory.pk)
        assert (told["text"], told["why"]) == (line, "keyword")
        assert answer["digest"]["counts"] == {"keyword": 1}
        assert answer["digest"]["used"]["total"]["chars"] == len(answer["text"])

    def test_an_agent_gets_memories_of_people_and_its_own_duplicates(
        self, remember, alice_api, body, project
    ):
        said = {"content": "Deploys happen on Friday.", "memory_type": "learning"}
        asked = {"project_id": str(project.pk), **said}
        of_a_person = alice_api.post("/api/v1/memories", asked).json()["id"]
        of_another = remember("Deploys need two approvals.", agent_id="writer")
        remember("Deploys need two approvals.", agent_id="crawler")
        remember("Deploys of the writer.", agent_id="writer")

        answer = alice_api.post(URL, body | {"agent_id": "crawler"}).json()

        told = {line["id"] for line in answer["items"]}
        assert told == {of_a_person, str(of_another.pk)}

    def test_the_same_rows_give_the_same_bytes(self, remember, alice_api, body):
        for number in range(20):
            remember(f"Deploys of the team number {number} are on day {number}.")

        texts = {alice_api.post(URL, body).json()["text"] for _ in range(20)}

        assert len(texts) == 1

    def test_memories_that_have_no_room_are_listed(self, remember, alice_api, body):
        for number in range(6):
            remember(f"Deploys of the team number {number} are on day {number}.")

        told = alice_api.post(URL, body).json()

        assert [one["why"] for one in told["left_out"]] == [
            "the note budget of items is spent"
        ] * 2

    def test_it_reports_that_embedding_is_behind(self, remember, alice_api, body):
        with fake.outage():
            remember("Deploys happen on Friday.")

        answer = alice_api.post(URL, body).json()

        assert answer["digest"]["behind"] == {"learning": False, "embedding": True}

    def test_a_wrong_override_is_refused_with_its_path(self, alice_api, body):
        body["overrides"] = {"budgets": {"total": {"max_items": -1}}}

        answer = alice_api.post(URL, body)

        assert answer.status_code == 400
        assert "budgets.total.max_items" in answer.json()["errors"]

    def test_a_stranger_does_not_see_it(self, charlie_api, body):
        assert charlie_api.post(URL, body).status_code == 404

    def test_it_takes_a_fixed_number_of_queries(
        self, remember, project, alice, django_assert_max_num_queries
    ):
        for number in range(12):
            remember(f"Deploys of the team number {number} are on day {number}.")

        with django_assert_max_num_queries(12):
            assemble.for_agent(project, alice, query="deploys of the team")


class TestAttacks:
    def test_there_are_a_hundred_of_them(self):
        assert len(ATTACKS) == 100

    @pytest.mark.parametrize("attack", HIDDEN)
    def test_hidden_characters_are_dropped(self, attack, remember, project, alice):
        remember(f"Deploys.\n{attack}")

        digest = assemble.for_agent(project, alice, query="deploys")

        visible = " ".join(drop_invisible(attack).split())
        assert f'"Deploys. {visible}"' in digest.text

    @pytest.mark.parametrize("attack", [one for one in ATTACKS if one not in HIDDEN])
    def test_every_attack_is_defused_and_kept(self, attack, remember, project, alice):
        memory = remember(f"Deploys.\n{attack}")

        digest = assemble.for_agent(project, alice, query="deploys")

        assert [one.memory.pk for one in digest.included] == [memory.pk]
        assert "[neutralised:" in digest.text
        assert attack not in digest.text
        rest = MARKED.sub("", digest.text.partition("—")[2])
        assert not any(pattern.search(rest) for _, pattern in prompt_injection.PATTERNS)


class TestConfiguration:
    def test_the_settings_of_an_agent_override_those_of_the_project(
        self, alice_api, project, body
    ):
        named = {"project_id": str(project.pk)}
        alice_api.put(CONFIG, named | {"config": {"keyword": {"limit": 5}}})
        own = {"semantic": {"enabled": True}}
        alice_api.put(CONFIG, named | {"agent_id": "crawler", "config": own})

        holds = alice_api.get(CONFIG, named | {"agent_id": "crawler"}).json()

        assert holds["config"] == own
        assert holds["effective"]["keyword"]["limit"] == 5
        assert holds["effective"]["semantic"]["enabled"] is True

    def test_without_a_row_the_defaults_apply(self, alice_api, project):
        answer = alice_api.get(CONFIG, {"project_id": str(project.pk)}).json()

        assert answer["version"] == 0
        assert answer["effective"]["budgets"]["total"]["max_items"] == 12

    def test_a_wrong_setting_is_refused_and_nothing_is_stored(self, alice_api, project):
        wrong = {"project_id": str(project.pk), "config": {"keywords": {}}}

        answer = alice_api.put(CONFIG, wrong)

        assert answer.status_code == 400
        assert not DigestConfig.objects.exists()

    def test_a_stale_version_is_refused(self, alice_api, project):
        put = {"project_id": str(project.pk), "config": {}, "expected_version": 0}
        alice_api.put(CONFIG, put)

        answer = alice_api.put(CONFIG, put)

        assert answer.status_code == 409
        assert answer.json()["current_version"] == 1

    def test_a_writer_may_not_set_it(self, bob_api, project):
        answer = bob_api.put(CONFIG, {"project_id": str(project.pk), "config": {}})

        assert answer.status_code == 403
