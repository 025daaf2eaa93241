"""A model reads a session once; what it teaches is checked by code and decided by people."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from ace import tasks as ace_tasks
from ace.models import ModelReflection
from common.caller import Role
from inference.errors import ProviderDown
from inference.language.fake import script_answers
from jobs import runner
from jobs.models import Job
from playbook.lessons import candidates, waiting
from playbook.models import LessonCandidate, PlaybookDelta, PlaybookEntry
from tests.ace.lessons.test_record import SESSION, agent, said
from tests.conversations.transcripts.test_claude_code import line
from tests.conversations.transcripts.test_route import TranscriptApi, raw

pytestmark = pytest.mark.django_db
PNPM = "Install packages with pnpm in this project, not with npm."
SAID = "use pnpm, not npm"


@pytest.fixture(autouse=True)
def model(settings):
    settings.LANGUAGE_PROVIDER = "fake"


@pytest.fixture
def carol_api(client_of, project):
    return client_of(project, role=Role.WRITER)


@pytest.fixture
def bobs(bob_api, project, run_jobs):
    """Send a session of Bob that is over; the model answers with these lessons."""

    def send(*lessons, key="one", rows=SESSION, client=bob_api):
        api = TranscriptApi(client, project)
        rows = [row | {"uuid": f"{key}-{n}"} for n, row in enumerate(rows)]
        api.sent(raw(rows), key=key, final=True)
        with script_answers(*(answer(*lessons) for _ in lessons[:1] or [0])) as calls:
            run_jobs()
        return calls

    return send


def answer(*lessons):
    return {"reasoning": "So it was.", "errors": [], "lessons": list(lessons)}


def lesson(content=PNPM, quote=SAID, **fields):
    return {
        "operation": "add",
        "label": "",
        "content": content,
        "kind": "instruction",
        "applies_to": ["tool:pnpm"],
        "quotes": [{"line": 1, "quote": quote}],
        "expires_when": "",
        **fields,
    }


def given_to(client, project):
    body = {"project_id": str(project.pk), "task_description": "install a package"}
    answered = client.post("/api/v1/context", body, format="json")
    assert answered.status_code == 200, answered.json()
    return answered.content.decode()


def test_what_a_person_said_is_live_for_their_agents_and_waits_for_others(
    bobs, bob_api, carol_api, alice_api, project
):
    calls = bobs(lesson())

    assert len(calls) == 1
    assert "REJECTED Bash: npm install left-pad" in calls[0].prompt
    [delta] = PlaybookDelta.objects.filter(producer="model")
    assert (delta.status, delta.kind) == ("pending", "instruction")
    assert delta.evidence[0]["quote"] == SAID
    assert PNPM in given_to(bob_api, project)
    for other in (carol_api, alice_api):
        assert PNPM not in given_to(other, project)


def test_the_next_session_confirms_it_and_a_third_one_contradicts_it(
    bobs, carol_api, project
):
    bobs(lesson())
    first = PlaybookDelta.objects.get(producer="model")

    calls = bobs(lesson("", operation="confirm", label=waiting.name(first)), key="two")
    assert PNPM in calls[0].prompt
    first.refresh_from_db()
    assert (first.status, first.seen_again) == ("pending", 1)

    npm = [line(0, "user", "We use npm again, pnpm is gone."), agent(1, said("Fine."))]
    bobs(
        lesson(
            "Install packages with npm, not with pnpm.",
            "We use npm again, pnpm is gone.",
            operation="contradict",
            label=waiting.name(first),
        ),
        key="three",
        rows=npm,
    )

    first.refresh_from_db()
    assert (first.status, first.served_persons) == ("pending", [])
    assert "otherwise" in first.review_note
    assert PlaybookDelta.objects.filter(
        status="pending", content="Install packages with npm, not with pnpm."
    ).exists()


def test_a_quote_that_nobody_said_leaves_nothing(bobs):
    bobs(lesson(quote="always use pnpm everywhere"))

    assert not PlaybookDelta.objects.filter(
        producer="model", status__in=["pending", "applied"]
    ).exists()
    row = ModelReflection.objects.get()
    assert (row.state, row.results[0]["given"]) == ("done", 1)


def test_an_outage_postpones_it_and_it_is_read_once(bobs, run_jobs, bob_api, project):
    api = TranscriptApi(bob_api, project)
    api.sent(raw(SESSION), final=True)
    with script_answers(ProviderDown(), ProviderDown()):
        run_jobs()
    row = ModelReflection.objects.get()
    assert (row.state, row.lease_until) == ("waiting", None)
    Job.objects.filter(kind="reflection").update(state=Job.State.FAILED)

    ace_tasks.ask_again()
    ace_tasks.ask_again()
    with script_answers(answer(lesson()), answer(lesson())) as calls:
        run_jobs()
        run_jobs()

    assert len(calls) == 1
    assert ModelReflection.objects.get().state == "done"
    assert PlaybookDelta.objects.filter(producer="model").count() == 1


def test_a_worker_that_dies_after_the_answer_takes_the_same_answer_in(
    bobs, run_jobs, bob_api, project, monkeypatch
):
    TranscriptApi(bob_api, project).sent(raw(SESSION), final=True)
    taken = runner.HANDLERS["reflection"].run.__globals__["reflections"]
    take_in = taken.take_in

    def die(*args):
        raise SystemExit

    monkeypatch.setattr(taken, "take_in", die)
    with script_answers(answer(lesson())), pytest.raises(SystemExit):
        run_jobs()
    monkeypatch.setattr(taken, "take_in", take_in)
    Job.objects.update(lease_until=timezone.now() - timedelta(1))

    with script_answers() as calls:
        run_jobs()

    assert not calls
    assert ModelReflection.objects.get().state == "done"
    assert PlaybookDelta.objects.filter(producer="model").count() == 1


def test_what_a_person_asks_in_three_sessions_is_proposed(bobs, carol_api, project):
    wish = lesson("Keep the changelog up to date.", operation="candidate")
    bobs(wish)
    label = candidates.name(LessonCandidate.objects.get())
    again = lesson("", operation="candidate", label=label)

    second, third = (bobs(again, key=key)[0].prompt for key in ("two", "three"))

    assert f'[{label}] "Keep the changelog up to date." (told in 1 ' in second
    assert "(told in 2 sessions)" in third
    [delta] = PlaybookDelta.objects.filter(producer="model")
    assert (delta.content, delta.status) == (wish["content"], "pending")
    assert len(delta.evidence) == 3
    assert not LessonCandidate.objects.exists()


def test_a_wish_of_another_users_session_is_not_shown(bobs, client_of, project):
    u1, u2 = (
        client_of(project, role=Role.WRITER, user_id=user) for user in ("u1", "u2")
    )
    wish = lesson("Keep the changelog up to date.", operation="candidate")
    bobs(wish, key="one", client=u1)

    assert "changelog" in bobs(lesson(), key="two", client=u1)[0].prompt
    assert "changelog" not in bobs(lesson(), key="three", client=u2)[0].prompt


class TestThePersonsOwnAgent:
    def next(self, client, project):
        return client.get("/api/v1/reflections/next", {"project_id": str(project.pk)})

    @pytest.fixture
    def unread(self, settings, bob_api, project, run_jobs):
        settings.LANGUAGE_PROVIDER = "none"
        TranscriptApi(bob_api, project).sent(raw(SESSION), final=True)
        run_jobs()

    def test_it_reads_in_the_place_of_a_model(self, unread, bob_api, project):
        task = self.next(bob_api, project).json()
        assert SAID in task["prompt"]
        url = f"/api/v1/reflections/{task['id']}"
        body = {"part": task["part"], "answer": answer(lesson()), "model": "an agent"}

        for _ in range(2):
            answered = bob_api.put(url, body, format="json")
            assert answered.status_code == 200, answered.json()
            assert answered.json()["state"] == "done"

        assert self.next(bob_api, project).status_code == 204
        assert PlaybookDelta.objects.get(producer="model").producer_name == "an agent"

    def test_nobody_else_is_given_it(
        self, unread, carol_api, alice_api, charlie_api, project
    ):
        for other in (carol_api, alice_api):
            assert self.next(other, project).status_code == 204
        assert self.next(charlie_api, project).status_code == 404
        row = ModelReflection.objects.get()
        url, body = f"/api/v1/reflections/{row.pk}", {"part": 1, "answer": answer()}
        for other in (carol_api, alice_api, charlie_api):
            assert other.put(url, body, format="json").status_code == 404
        assert charlie_api.get(url).status_code == 404

    def test_an_answer_of_another_shape_is_refused_and_may_be_sent_again(
        self, unread, bob_api, project
    ):
        task = self.next(bob_api, project).json()
        url = f"/api/v1/reflections/{task['id']}"

        bad = bob_api.put(url, {"part": 1, "answer": {"lessons": 3}}, format="json")
        good = bob_api.put(url, {"part": 1, "answer": answer()}, format="json")

        assert (bad.status_code, bad.json()["code"]) == (400, "invalid")
        assert good.status_code == 200

    def test_without_a_lease_its_answer_is_refused(self, unread, bob_api, project):
        task = self.next(bob_api, project).json()
        ModelReflection.objects.update(lease_until=timezone.now() - timedelta(1))
        url = f"/api/v1/reflections/{task['id']}"

        late = bob_api.put(url, {"part": 1, "answer": answer()}, format="json")

        assert (late.status_code, late.json()["code"]) == (409, "reflection_leased")


def test_a_session_whose_memory_is_off_is_not_read(bobs, bob_api, project, run_jobs):
    api = TranscriptApi(bob_api, project)
    api.sent(raw(SESSION), final=True)
    with script_answers(ProviderDown()):
        run_jobs()
    session = ModelReflection.objects.get().session
    type(session).objects.update(has_memory=False)
    Job.objects.filter(kind="reflection").update(run_after=timezone.now())

    with script_answers(answer(lesson())) as calls:
        run_jobs()

    assert not calls
    assert not ModelReflection.objects.exists()


def test_a_rule_is_shown_with_its_label_and_may_be_confirmed(bobs, alice, project):
    PlaybookEntry.objects.create(
        project=project,
        label="tools-1",
        content=PNPM,
        category="tools",
        author_kind="human",
        created_at=timezone.now(),
        updated_at=timezone.now(),
        created_by="alice",
        similarity_hash="x",
    )

    calls = bobs(lesson("", operation="confirm", label="tools-1"))

    assert f'[tools-1] "{PNPM}"' in calls[0].prompt
    assert PlaybookEntry.objects.get(label="tools-1").helpful == 1
