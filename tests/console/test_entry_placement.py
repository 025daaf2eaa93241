"""The placement of an entry: its priority and its pin, set by a proposal."""

from __future__ import annotations

import pytest
from django.contrib.messages import get_messages
from django.urls import reverse

from common.caller import Role
from playbook.models import PlaybookChange, PlaybookDelta
from tests.console.conftest import add, newest_change
from tests.playbook.conftest import reword

pytestmark = pytest.mark.django_db


@pytest.fixture
def entry(project, alice):
    return add(project, alice)


def place(browser, project, entry, **fields):
    entry.refresh_from_db()
    data = {"project": project.pk, "version": entry.version, "priority": 0}
    answer = browser.post(
        reverse("console:playbook_place", args=[entry.pk]), data | fields
    )
    entry.refresh_from_db()
    return answer


def messages_of(answer):
    return [str(message) for message in get_messages(answer.wsgi_request)]


class TestThePlaceOfAnEntry:
    def test_a_curator_sets_it_by_a_change_like_any_other(
        self, curator, project, entry
    ):
        place(curator, project, entry, priority=7, pinned="on")

        assert (entry.priority, entry.pinned) == (7, True)
        assert newest_change().after["priority"] == 7
        assert PlaybookDelta.objects.first().producer == "human"

    def test_setting_the_present_values_changes_nothing(self, curator, project, entry):
        answer = place(curator, project, entry)

        assert messages_of(answer) == ["The entry is there already."]
        assert PlaybookChange.objects.count() == 1

    def test_a_stale_page_gets_a_message(self, curator, project, entry, alice):
        reword(entry, alice, "Moor at the south berth.")

        answer = place(curator, project, entry, priority=7, version=1)

        assert entry.priority == 0
        assert any("version" in one or "changed" in one for one in messages_of(answer))

    def test_the_reader_stays_on_the_page_of_the_list(self, curator, project, entry):
        answer = place(curator, project, entry, priority=7, page=3)

        assert "page=3" in answer.url

    @pytest.mark.parametrize("priority", ["", "zebra", "9" * 30])
    def test_a_value_that_is_no_number_is_refused(
        self, curator, project, entry, priority
    ):
        answer = place(curator, project, entry, priority=priority)

        assert messages_of(answer)
        assert entry.priority == 0

    @pytest.mark.parametrize("role", [Role.VIEWER, Role.WRITER])
    def test_others_are_neither_offered_nor_allowed_it(
        self, browser_of, project, entry, role
    ):
        browser = browser_of(role)

        page = f"{reverse('console:playbook')}?project={project.pk}"
        assert 'name="priority"' not in browser.get(page).content.decode()
        assert place(browser, project, entry, priority=7).status_code in (403, 404)
        assert entry.priority == 0
