"""A purge destroys the sessions of a user, and a deleted project takes its sessions along."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.utils import timezone

from conversations import personal_data
from conversations.models import (
    AgentMemory,
    AgentMemoryChange,
    Message,
    MessageVector,
    Session,
    Summary,
    SummaryVector,
)
from jobs import queue
from projects import deletion
from projects.models import Project
from tests.conversations.conftest import talk

pytestmark = pytest.mark.django_db
MARK = "quokkazed"
ROWS = (MessageVector, Message, SummaryVector, Summary, Session, AgentMemory)


@pytest.fixture
def world(session_api, run_jobs):
    for user in ("42", "43"):
        session_api.bootstrap(f"s{user}", user_id=user, title=f"{MARK} {user}")
        session_api.append(*talk(40, f"The {MARK} build of {user}"), key=f"s{user}")
        session_api.post(f"sessions/s{user}/compact", mode="full")
        body = {"text": f"Likes {MARK} {user}", "user_id": user, "agent_id": "agent"}
        session_api.put("agent-memory/profile", **body)
    run_jobs()
    return session_api


def places_of(text):
    """Return the tables of sessions whose rows hold a text."""
    found = set()
    for model in apps.get_app_config("conversations").get_models():
        for values in model._base_manager.values():
            if text in str(values):
                found.add(model.__name__)
    return found


def test_the_world_has_every_kind_of_row(world):
    assert all(model._base_manager.count() >= 2 for model in ROWS)


def test_a_purge_of_a_user_leaves_no_trace_and_keeps_the_others(world):
    answer = world.post("purge", user_id="42", reason="asked")

    assert answer.status_code == 200, answer.json()
    assert places_of(f"{MARK} build of 42") | places_of(f"{MARK} 42") == set()
    assert places_of(f"{MARK} build of 43") >= {"Message", "Summary"}
    assert world.get("sessions/s42").status_code == 404
    assert [s["key"] for s in world.get("sessions").json()["results"]] == ["s43"]
    masked = AgentMemoryChange.objects.filter(scope="profile").order_by("pk").first()
    assert masked.after_text.startswith("[purged]")


def test_a_purge_of_a_session_keeps_the_agent_memory(world):
    world.post("purge", session_id="s42", reason="asked")

    assert places_of(f"{MARK} build of 42") == set()
    assert AgentMemory.objects.count() == 2


def test_a_job_purges_a_long_session(world, run_jobs, monkeypatch):
    monkeypatch.setattr(personal_data, "MAX_INLINE", 1)

    answer = world.post("purge", session_id="s42", reason="asked")

    assert (answer.status_code, answer.json()["state"]) == (202, "waiting")
    assert places_of(f"{MARK} build of 42") != set()
    run_jobs()
    assert places_of(f"{MARK} build of 42") == set()


def test_a_deleted_project_takes_its_sessions_along(world, project, run_jobs):
    Project.objects.filter(pk=project.pk).update(delete_after=timezone.now())
    queue.enqueue(deletion.KIND, project_id=project.pk, key=str(project.pk))
    run_jobs()

    assert not Project.objects.filter(pk=project.pk).exists()
    assert all(not model._base_manager.exists() for model in ROWS)


def test_a_purge_of_a_session_keeps_what_its_user_said_for_later_sessions(session_api):
    for key, user in (("one", "42"), ("two", "0")):
        named = {"user_id": user, "agent_id": "agent"}
        session_api.bootstrap(key, user_id="" if user == "0" else user)
        session_api.put("agent-memory/profile", text="Likes Go", session=key, **named)
        added = session_api.post(
            "agent-memory/constraints", text="Never push", session=key, **named
        )
        assert added.status_code in (200, 201), added.json()

        session_api.post("purge", session_id=key, reason="asked")
        session_api.bootstrap(f"{key}-later", user_id="" if user == "0" else user)
        context = session_api.assemble(f"{key}-later")

        assert "Likes Go" in str(context)
        assert "Never push" in str(context)
    changes = AgentMemoryChange.objects.exclude(session_key="")
    assert all(row.session_key.startswith("[purged]") for row in changes)
