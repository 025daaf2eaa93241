"""Idle sessions are archived and archived ones purged, where a project says so."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from common import errors
from conversations import personal_data
from conversations.models import Message, Session
from conversations.sessions import retention
from conversations.tasks import retain
from memories.retention import erase
from tests.conversations.conftest import say

pytestmark = pytest.mark.django_db
OLD = timezone.now() - timedelta(days=10)


@pytest.fixture
def keys(session_api):
    """One session that is old and one that is new, and another user's of the same key."""
    for key, user in (("old", ""), ("new", ""), ("old", "42")):
        session_api.bootstrap(key, user_id=user)
        session_api.append(say(f"{key} {user}"), key=key, user_id=user)
    Session.objects.filter(key="old", user_id="").update(last_active=OLD)

    def read(**filters):
        rows = Session.objects.filter(**filters).order_by("key", "user_id")
        return list(rows.values_list("key", "user_id"))

    return read


def let(project, **days):
    project.settings = {"conversations": days}
    project.save()


def test_by_default_nothing_is_archived_or_purged(keys):
    retain()

    assert len(keys(archived_at=None)) == 3


def test_an_idle_session_is_archived(keys, project):
    let(project, archive_after_days=5)

    retain()

    assert keys(archived_at=None) == [("new", ""), ("old", "42")]


def test_a_session_that_was_archived_for_long_is_purged_alone(keys, project):
    let(project, purge_after_days=5)
    Session.objects.filter(key="old", user_id="").update(archived_at=OLD)

    retain()

    assert keys() == [("new", ""), ("old", "42")]
    assert Message.objects.count() == 2


def test_an_append_opens_an_archived_session_again(keys, project, session_api):
    let(project, archive_after_days=5)
    retain()

    session_api.append(say("Hello"), key="old", user_id="0")

    assert len(keys(archived_at=None)) == 3


def test_a_session_that_is_opened_while_it_waits_for_its_purge_stays(
    keys, project, session_api, monkeypatch
):
    let(project, purge_after_days=5)
    Session.objects.filter(key="old").update(archived_at=OLD)
    purge = erase.purge

    def open_the_other(*args, **options):
        Session.objects.filter(key="old").update(archived_at=None)
        return purge(*args, **options)

    monkeypatch.setattr(erase, "purge", open_the_other)

    retain()

    assert Session.objects.filter(key="old").count() == 1


def test_a_session_that_is_in_use_does_not_keep_the_others_from_their_purge(
    keys, project, monkeypatch
):
    let(project, purge_after_days=5)
    Session.objects.filter(key="old").update(archived_at=OLD)
    purge = erase.purge

    def refuse_for_nobody(project, selection, *args, **options):
        if "user_id" not in selection["scope"]:
            raise errors.StateConflict("A run goes on.")
        return purge(project, selection, *args, **options)

    monkeypatch.setattr(erase, "purge", refuse_for_nobody)

    retain()

    assert keys() == [("new", ""), ("old", "")]


def test_the_purge_is_of_the_user_who_has_the_session_now(keys, project, monkeypatch):
    let(project, purge_after_days=5)
    Session.objects.filter(key="old", user_id="").update(archived_at=OLD)
    purge_one = retention._purge_if_archived

    def claim_first(project, session, before):
        Session.objects.filter(pk=session.pk).update(user_id="7")
        return purge_one(project, session, before)

    monkeypatch.setattr(retention, "_purge_if_archived", claim_first)

    retain()

    assert keys() == [("new", ""), ("old", "42")]


def test_a_long_session_is_purged_at_once(keys, project, monkeypatch):
    monkeypatch.setattr(personal_data, "MAX_INLINE", 0)
    let(project, purge_after_days=5)
    Session.objects.filter(key="old", user_id="").update(archived_at=OLD)

    retain()

    assert keys() == [("new", ""), ("old", "42")]
