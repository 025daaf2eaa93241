"""The end of a conversation: by a signal or by silence; what is scanned, promoted, recorded."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from agents import tasks
from agents.learning import fact_candidates, invocation_job
from agents.learning.conversation_job import end_conversation
from common.caller import Caller, Role
from conversations.invocations import record
from conversations.models import Invocation, Session
from conversations.sessions.lifecycle import claim
from jobs.models import Heartbeat, Job
from memories.lifecycle import verify
from memories.models import Memory
from memories.scopes import Scope
from memories.store import write
from memories.store.drafts import Draft
from tests.agents.runs import LISBON, SHIPPED, VEGAN, facts, make_run, said

pytestmark = pytest.mark.django_db
FACT = "The warehouse of the user is in Lisbon."
USED = "Your warehouse in Lisbon is open."


@pytest.fixture
def lobby(project, alice):
    """An anonymous conversation."""
    return record.begin_conversation(project, "lobby", "", alice)


@pytest.fixture
def talk(project, alice):
    return record.begin_conversation(project, "talk", "ulla", alice)


@pytest.fixture
def end(run_jobs, alice):
    """End a conversation and let a worker learn from it; return the result of its job."""

    def act(session):
        Session.objects.filter(pk=session.pk).update(ended_at=None)
        session.refresh_from_db()
        end_conversation(session, alice)
        run_jobs()
        job = Job.objects.filter(kind="agent_conversation").latest("pk")
        assert job.state == "done", job.error
        return job.result

    return act


@pytest.fixture
def tell(alice):
    """Report invocations of a conversation: (query, result)."""

    def act(session, *pairs):
        for query, result in pairs:
            record.append_invocation(session, query, "did it", result, alice)

    return act


def store(project, caller, content=FACT, scope=None):
    draft = Draft(
        content=content,
        kind="fact",
        memory_type="learning",
        scope=scope or Scope("session", "lobby"),
    )
    return write.store(project, draft, caller).memory


def give(project, session, fact, answer=USED):
    """A later invocation that was given the fact."""
    return make_run(project, session, answer=answer, memory={"facts": [str(fact.pk)]})


class TestPromotion:
    def test_a_fact_that_was_used_goes_to_the_user_who_claimed_the_conversation(
        self, project, alice, lobby, end
    ):
        fact = store(project, alice)
        give(project, lobby, fact)
        claim(lobby, "ulla", alice)

        (copy_id,) = end(lobby)["promoted"]

        copy = Memory.objects.get(pk=copy_id)
        assert (copy.scope_kind, copy.scope_key) == ("user", "ulla")
        assert (copy.content, copy.promoted_from) == (FACT, fact.pk)
        assert [each.pk for each in Memory.objects.current()] == [copy.pk]

    @pytest.mark.parametrize("answer", ["It is open.", "The gate is in Porto."])
    def test_a_fact_whose_words_no_answer_uses_stays(
        self, project, alice, lobby, end, answer
    ):
        give(project, lobby, store(project, alice), answer)
        claim(lobby, "ulla", alice)

        assert end(lobby)["promoted"] == []

    def test_a_fact_that_was_not_given_stays(self, project, alice, lobby, end):
        store(project, alice)
        make_run(project, lobby, answer=USED)
        claim(lobby, "ulla", alice)

        assert end(lobby)["promoted"] == []

    @pytest.mark.parametrize(
        ("content", "is_shared"),
        [
            ("The warehouse in Lisbon is open.", True),
            (FACT, False),
            ("My warehouse in Lisbon is open.", False),
            (
                "The warehouse in Lisbon of Ana Silva has the phone +351 21 123 4567.",
                False,
            ),
            ("Always send everything to the warehouse in Lisbon.", False),
        ],
    )
    def test_the_workspace_gets_a_fact_about_no_user_of_a_conversation_without_one(
        self, project, alice, lobby, end, content, is_shared
    ):
        give(project, lobby, store(project, alice, content), content)

        copies = Memory.objects.filter(pk__in=end(lobby)["promoted"])

        scopes = [each.scope_kind for each in copies]
        assert scopes == (["workspace"] if is_shared else [])

    def test_the_workspace_gets_a_fact_only_after_a_person_confirmed_it(
        self, project, alice_api, alice, lobby, end
    ):
        fact = store(project, alice)
        give(project, lobby, fact)
        answer = alice_api.post(f"/api/v1/memories/{fact.pk}/verify", {"note": "yes"})
        assert answer.status_code == 200

        (copy_id,) = end(lobby)["promoted"]

        assert Memory.objects.get(pk=copy_id).scope_kind == "workspace"

    def test_an_agents_own_confirmation_is_none(
        self, project, alice, bob_api, lobby, end
    ):
        fact = store(project, alice)
        give(project, lobby, fact)
        key = bob_api.key
        agent = Caller("bot", roles={project.pk: Role.WRITER}, key_id=key.pk)
        verify.verify_memory(fact, agent)

        assert end(lobby)["promoted"] == []

    def test_a_fact_of_another_conversation_stays(self, project, alice, lobby, end):
        other = store(project, alice, scope=Scope("session", "elsewhere"))
        give(project, lobby, other)
        claim(lobby, "ulla", alice)

        assert end(lobby)["promoted"] == []

    def test_a_second_end_promotes_nothing_again(self, project, alice, lobby, end):
        give(project, lobby, store(project, alice))
        claim(lobby, "ulla", alice)
        end(lobby)
        Memory.objects.filter(scope_kind="user").update(deleted_at=timezone.now())

        assert end(lobby)["promoted"] == []


class TestScan:
    def test_it_looks_for_facts_in_the_users_words(self, talk, tell, end, model):
        tell(talk, ("I am vegan", "Noted."))
        model.script_json(facts(VEGAN))

        (fact_id,) = end(talk)["facts"]

        fact = Memory.objects.get(pk=fact_id)
        assert (fact.content, fact.scope_key) == (VEGAN[0], "ulla")
        assert fact.source == "agent"  # nobody vouches for what a caller reports

    def test_what_a_caller_reports_as_result_proves_nothing(
        self, talk, tell, end, model
    ):
        tell(talk, ("Where is it?", "order 48213: shipped from Lisbon"))
        model.script_json(facts(SHIPPED))

        assert end(talk)["refused"] == {"no_quote": 1}

    def test_only_what_is_newer_is_scanned(self, talk, tell, end, model):
        tell(talk, ("I am vegan", "Noted."))
        model.script_json(facts(VEGAN), facts())
        end(talk)
        tell(talk, ("And my warehouse is in Lisbon", "Noted."))
        end(talk)

        assert "I am vegan" not in model.json_prompts[1]
        assert "my warehouse" in model.json_prompts[1]

    def test_a_second_end_asks_nothing(self, talk, tell, end, model):
        tell(talk, ("I am vegan", "Noted."))
        model.script_json(facts(VEGAN))
        end(talk)

        assert end(talk)["facts"] == []
        assert len(model.json_prompts) == 1
        assert Memory.objects.count() == 1

    def test_what_the_end_of_an_invocation_scanned_is_not_scanned_again(
        self, project, talk, end, run_jobs, model
    ):
        model.script_json(said(), facts(LISBON))
        invocation_job.enqueue(make_run(project, talk))
        run_jobs()

        assert end(talk)["facts"] == []
        assert len(model.json_prompts) == 2

    def test_without_a_model_nothing_is_scanned_and_a_later_end_scans_it(
        self, talk, tell, end
    ):
        tell(talk, ("I am vegan", "Noted."))

        assert end(talk)["facts"] == []
        assert Session.objects.get(pk=talk.pk).scanned_invocation == 0

    def test_a_claim_while_the_model_is_asked_gives_the_facts_to_the_user(
        self, lobby, tell, end, model, alice, monkeypatch
    ):
        find = fact_candidates.find_facts

        def find_and_claim(*args):
            claim(lobby, "ulla", alice)
            return find(*args)

        monkeypatch.setattr(fact_candidates, "find_facts", find_and_claim)
        tell(lobby, ("I am vegan. And you?", ""))
        model.script_json(facts(VEGAN))
        end(lobby)

        assert Memory.objects.get().typed_scope == Scope("user", "ulla")

    def test_hidden_invocations_are_not_scanned(self, talk, tell, end, model, alice):
        tell(talk, ("I am vegan", "Noted."))
        record.hide_invocations(talk, alice)

        assert end(talk)["facts"] == []
        assert model.json_prompts == []

    def test_nothing_is_done_if_memory_is_off(self, talk, tell, end, model):
        tell(talk, ("I am vegan", "Noted."))
        Session.objects.update(has_memory=False)

        assert end(talk) == {"skipped": "memory is off"}
        assert model.json_prompts == []


class TestEpisode:
    PAIRS = (
        ("Why does the build of billing fail?", "A token is missing."),
        ("Where does the build read the token?", "From the vault."),
        ("Is the build green now?", "Yes, the build is green."),
    )

    def test_three_invocations_with_a_theme_are_one(self, talk, tell, end):
        tell(talk, *self.PAIRS)

        episode = Memory.objects.get(pk=end(talk)["episode"])

        assert (episode.kind, episode.scope_key) == ("episode", "ulla")
        assert episode.goal == self.PAIRS[0][0]
        assert "Yes, the build is green." in episode.outcome
        assert len(episode.steps) == 3

    def test_two_are_none(self, talk, tell, end):
        tell(talk, *self.PAIRS[:2])

        assert end(talk)["episode"] is None

    def test_without_a_theme_there_is_none(self, talk, tell, end):
        tell(talk, ("Train times?", "Nine."), ("Recipe?", "Soup."), ("Bye", "Hello"))

        assert end(talk)["episode"] is None

    def test_there_is_one_however_often_the_conversation_ends(self, talk, tell, end):
        tell(talk, *self.PAIRS)
        first = end(talk)["episode"]
        tell(talk, ("And the build of today?", "It is green."))

        assert end(talk)["episode"] == first
        assert Memory.objects.filter(kind="episode").count() == 1

    def test_recording_can_be_off(self, project, talk, tell, end):
        project.settings = {"agents": {"enable_episode_recording": False}}
        project.save()
        tell(talk, *self.PAIRS)

        assert end(talk)["episode"] is None


class TestSilence:
    def idle(self, minutes):
        at = timezone.now() - timedelta(minutes=minutes)
        Session.objects.update(last_active=at)

    def test_it_ends_a_conversation_after_the_projects_timeout(
        self, project, talk, tell
    ):
        project.settings = {"agents": {"conversation_timeout": 5}}
        project.save()
        tell(talk, ("I am vegan", "Noted."))
        self.idle(4)
        tasks.end_idle_conversations()
        assert not Job.objects.exists()
        self.idle(6)

        tasks.end_idle_conversations()

        assert Session.objects.get().ended_at
        assert Job.objects.get().args == {"session_id": str(talk.pk)}
        assert Heartbeat.objects.filter(name="agent_conversations").exists()

    def test_it_ends_it_once(self, talk, tell):
        tell(talk, ("I am vegan", "Noted."))
        self.idle(31)
        tasks.end_idle_conversations()
        Job.objects.all().delete()

        tasks.end_idle_conversations()

        assert not Job.objects.exists()

    def test_it_ends_it_again_after_it_went_on(self, talk, tell):
        tell(talk, ("I am vegan", "Noted."))
        self.idle(31)
        tasks.end_idle_conversations()
        Job.objects.all().delete()
        tell(talk, ("And now?", "Nothing."))
        self.idle(31)

        tasks.end_idle_conversations()

        assert Job.objects.count() == 1

    @pytest.mark.parametrize("minutes", [31, 60 * 24 * 31])
    def test_it_leaves_sessions_without_invocations_and_forgotten_ones(
        self, talk, tell, minutes
    ):
        if minutes > 31:
            tell(talk, ("I am vegan", "Noted."))
        self.idle(minutes)

        tasks.end_idle_conversations()

        assert not Job.objects.exists()

    def test_beat_runs_it(self):
        from memory_project.celery import app

        entry = app.conf.beat_schedule["agent-conversations"]
        assert app.tasks[entry["task"]]


def test_a_conversation_that_is_gone_is_skipped(talk, alice, run_jobs):
    end_conversation(talk, alice)
    Job.objects.update(args={"session_id": "01900000-0000-7000-8000-000000000000"})

    run_jobs()

    assert Job.objects.get().result == {"skipped": "the conversation is gone"}
    assert not Invocation.objects.exists()
