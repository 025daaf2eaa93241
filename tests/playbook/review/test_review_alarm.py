"""The alarm about proposals that wait longer than the project allows."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core import mail
from django.utils import timezone

from audit.models import AuditEvent
from common.ids import uuid7
from jobs import queue
from jobs.models import Heartbeat, Job
from playbook.models import Playbook, PlaybookDelta
from playbook.review import decide, review_alarm
from playbook.tasks import watch_reviews
from projects.models import Project

pytestmark = pytest.mark.django_db
Status = PlaybookDelta.DeltaStatus


class Receiver:
    """A server on loopback that keeps what is posted to it."""

    def __init__(self):
        self.posts = []
        self.status = 204
        self.headers = {}


@pytest.fixture
def receiver(settings):
    settings.WEBHOOK_PRIVATE = True
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.posts.append((self.headers["Host"], json.loads(body)))
            self.send_response(kept.status)
            for name, value in kept.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    kept.port = server.server_port
    kept.url = f"http://localhost:{kept.port}/hook"
    yield kept
    server.shutdown()
    server.server_close()


@pytest.fixture
def asks(project):
    """Set the project's alarm: `asks(email="bob@example.com")`."""

    def make(**review):
        project.settings = {"review": {"alarm_hours": 24, **review}}
        project.save()

    return make


@pytest.fixture
def waiting(project):
    """A proposal that has waited for so many hours."""

    def make(hours=30, at=project):
        delta = PlaybookDelta.objects.create(
            project=at,
            operation="add",
            content="Moor at the south berth at low tide.",
            category="gotchas",
            producer="rule",
            proposed_by="key",
            idempotency_key=str(uuid7()),
        )
        PlaybookDelta.objects.filter(pk=delta.pk).update(
            created_at=timezone.now() - timedelta(hours=hours)
        )
        return delta

    return make


def alarm_jobs(**where):
    return Job.objects.filter(kind=review_alarm.KIND, **where)


class TestWhenItIsRaised:
    def test_the_webhook_gets_the_waiting_proposals(
        self, project, receiver, asks, waiting, run_jobs, settings
    ):
        settings.PUBLIC_URL = "https://memory.example.com/"
        asks(webhook_url=receiver.url)
        waiting(hours=30)
        waiting(hours=1)

        watch_reviews()
        run_jobs()

        [(host, body)] = receiver.posts
        assert host == f"localhost:{receiver.port}"
        assert body["event"] == "review_overdue"
        assert body["project_id"] == str(project.pk)
        assert (body["waiting"], body["limit_hours"]) == (2, 24)
        assert body["url"] == f"https://memory.example.com/admin/?project={project.pk}"
        assert "the oldest for 30 hours" in body["text"]
        assert "berth" not in json.dumps(body)

    def test_the_address_gets_a_mail(self, project, asks, waiting, run_jobs, settings):
        settings.EMAIL_URL = "smtp://mail.example.com"
        Project.objects.update(name="alpha\nBcc: eve@example.com")
        project.refresh_from_db()
        asks(email="bob@example.com")
        waiting()

        watch_reviews()
        run_jobs()

        [sent] = mail.outbox
        assert sent.to == ["bob@example.com"]
        assert sent.subject == 'Proposals wait in "alpha Bcc: eve@example.com"'
        assert sent.body.endswith("the oldest for 30 hours. The limit is 24.")

    def test_it_is_raised_once_for_a_breach(self, receiver, asks, waiting, run_jobs):
        asks(webhook_url=receiver.url)
        waiting()

        for _ in range(3):
            watch_reviews()
            waiting(hours=50)
            run_jobs()

        assert len(receiver.posts) == 1
        assert AuditEvent.objects.filter(verb="review.alarm").count() == 1

    def test_it_is_raised_again_after_it_was_cleared(
        self, receiver, asks, waiting, run_jobs, alice
    ):
        asks(webhook_url=receiver.url)
        first = waiting()
        watch_reviews()
        run_jobs()
        decide.reject(first, alice, reason="no", reason_code="wrong")
        watch_reviews()
        assert Playbook.objects.get().alarmed_at is None

        waiting()
        watch_reviews()
        run_jobs()

        assert len(receiver.posts) == 2

    def test_a_removed_limit_clears_it(self, receiver, asks, waiting):
        asks(webhook_url=receiver.url)
        waiting()
        watch_reviews()
        assert Playbook.objects.get().alarmed_at

        Project.objects.update(settings={})
        watch_reviews()

        assert Playbook.objects.get().alarmed_at is None

    def test_each_channel_is_a_job_of_its_own(self, receiver, asks, waiting):
        asks(webhook_url=receiver.url, email="bob@example.com")
        waiting()

        watch_reviews()

        told = alarm_jobs().values_list("args__channel", flat=True)
        assert sorted(told) == ["email", "webhook_url"]

    @pytest.mark.parametrize("hours", [1, 23])
    def test_what_is_younger_than_the_limit_raises_none(
        self, receiver, asks, waiting, hours
    ):
        asks(webhook_url=receiver.url)
        waiting(hours=hours)

        watch_reviews()

        assert not alarm_jobs().exists()

    def test_without_limit_address_or_project_nothing_is_sent(
        self, project, asks, waiting, other_project
    ):
        waiting()
        waiting(at=other_project)
        asks()
        watch_reviews()
        asks(email="bob@example.com")
        project.hide()
        project.save()
        watch_reviews()

        assert not alarm_jobs().exists()

    def test_beat_shows_that_it_looked(self, db):
        watch_reviews()

        assert Heartbeat.objects.filter(name="review_alarm").exists()


class TestWhenItFails:
    def test_it_is_tried_again_and_then_failed_for_an_operator(
        self, receiver, asks, waiting, run_jobs
    ):
        asks(webhook_url=receiver.url)
        receiver.status = 500
        waiting()
        watch_reviews()
        counted = failures()

        for _ in range(8):
            alarm_jobs().update(run_after=timezone.now())
            run_jobs()

        job = alarm_jobs().get()
        assert (job.state, job.attempts) == (Job.State.FAILED, 8)
        assert "answered 500" in job.error
        assert "127.0.0.1" not in job.error
        assert failures() == counted + 8

    def test_an_operator_who_retries_has_it_sent(
        self, receiver, asks, waiting, run_jobs
    ):
        asks(webhook_url=receiver.url)
        waiting()
        watch_reviews()
        alarm_jobs().update(state=Job.State.FAILED)

        queue.retry(alarm_jobs().get())
        run_jobs()

        assert len(receiver.posts) == 1
        assert alarm_jobs().get().result == {"sent": True, "waiting": 1}

    def test_proposals_decided_since_are_not_sent(
        self, receiver, asks, waiting, run_jobs
    ):
        asks(webhook_url=receiver.url)
        delta = waiting()
        watch_reviews()
        PlaybookDelta.objects.filter(pk=delta.pk).update(status=Status.REJECTED)

        run_jobs()

        assert receiver.posts == []
        assert alarm_jobs().get().result == {"sent": False}

    def test_a_redirect_is_not_followed(self, receiver, asks, waiting, run_jobs):
        asks(webhook_url=receiver.url)
        receiver.status = 302
        receiver.headers = {"Location": receiver.url}
        waiting()

        watch_reviews()
        run_jobs()

        assert len(receiver.posts) == 1
        assert "answered 302" in alarm_jobs().get().error

    def test_an_address_inside_the_network_fails_at_once(
        self, receiver, asks, waiting, run_jobs, settings
    ):
        settings.WEBHOOK_PRIVATE = False
        asks(webhook_url=receiver.url)
        waiting()

        watch_reviews()
        run_jobs()

        job = alarm_jobs().get()
        assert job.state == Job.State.FAILED
        assert "inside the network" in job.error
        assert "127.0.0.1" not in job.error
        assert receiver.posts == []

    def test_mail_without_a_server_fails_at_once(self, asks, waiting, run_jobs):
        asks(email="bob@example.com")
        waiting()

        watch_reviews()
        run_jobs()

        job = alarm_jobs().get()
        assert job.state == Job.State.FAILED
        assert "EMAIL_URL" in job.error

    def test_an_unreachable_mail_server_is_retried(
        self, asks, waiting, run_jobs, settings
    ):
        settings.EMAIL_URL = "smtp://127.0.0.1:1"
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
        asks(email="bob@example.com")
        waiting()

        watch_reviews()
        run_jobs()

        job = alarm_jobs().get()
        assert job.state == Job.State.WAITING
        assert "The mail server" in job.error
        assert "bob@" not in job.error


def failures():
    labels = review_alarm.ALARMS.labels("webhook_url", "failed")
    return labels._value.get()


class TestTheSetting:
    @pytest.mark.parametrize(
        "review",
        [
            {"alarm_hours": 0},
            {"alarm_hours": 9_000},
            {"webhook_url": "file:///etc/passwd"},
            {"webhook_url": "gopher://example.com"},
            {"webhook_url": "https://"},
            {"webhook_url": "https://user:word@example.com/"},
            {"webhook_url": "https://example.com:99999/"},
            {"webhook_url": "https://exa mple.com/"},
            {"webhook_url": "https://example.com/" + "a" * 2_000},
            {"email": "bob"},
            {"email": "bob@example.com\nBcc: eve@example.com"},
            {"phone": "1"},
        ],
    )
    def test_invalid_settings_are_refused(self, alice_api, project, review):
        url = f"/api/v1/projects/{project.pk}/settings"

        answer = alice_api.patch(url, {"review": review})

        assert answer.status_code == 400
        [field] = answer.json()["errors"]
        assert field.startswith("settings.review")

    @pytest.mark.parametrize(
        "host",
        [
            *("127.0.0.1", "10.1.2.3", "[::1]", "[::ffff:127.0.0.1]", "2130706433"),
            *("0x7f.1", "localhost", "169.254.169.254", "metadata.google.internal"),
        ],
    )
    def test_an_address_inside_the_network_is_refused_at_once(
        self, alice_api, project, settings, host
    ):
        settings.WEBHOOK_PRIVATE = False
        review = {"webhook_url": f"http://{host}:8080/hook"}

        answer = alice_api.patch(
            f"/api/v1/projects/{project.pk}/settings", {"review": review}
        )

        assert answer.status_code == 400
        assert [*answer.json()["errors"]] == ["settings.review.webhook_url"]
        project.refresh_from_db()
        assert project.options.review.webhook_url == ""

    def test_an_address_that_is_stored_already_hinders_no_other_setting(
        self, alice_api, project, settings
    ):
        settings.WEBHOOK_PRIVATE = False
        stored = {"review": {"webhook_url": "http://10.1.2.3/hook"}}
        Project.objects.filter(pk=project.pk).update(settings=stored)

        answer = alice_api.patch(
            f"/api/v1/projects/{project.pk}/settings", {"review": {"alarm_hours": 4}}
        )

        assert answer.status_code == 200, answer.json()

    def test_valid_settings_are_kept(self, alice_api, project):
        url = f"/api/v1/projects/{project.pk}/settings"
        review = {
            "alarm_hours": 24,
            "webhook_url": "https://hooks.example.com/T0/B1?x=1",
            "email": "bob@example.com",
        }

        answer = alice_api.patch(url, {"review": review})

        assert answer.status_code == 200
        assert answer.json()["review"] == review
