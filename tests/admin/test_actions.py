"""Actions and forms of the admin call the product's functions and write audit rows."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.db.models import F
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from access.models import ApiKey
from audit.models import AuditEvent
from common.caller import Role
from jobs.models import Job
from memories.lifecycle import update, verify
from memories.models import Memory, MemoryChange, PossibleDuplicate, Tag
from memories.store import tags, write
from memories.store.drafts import Draft
from playbook.conflicts.contradiction import Contradiction
from playbook.models import Conflict, PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.proposals import person_edits
from projects.models import Membership, Project
from tests.admin.conftest import person
from tests.playbook.conftest import apply_beside, reword


def do(browser, row, action, text="", **more):
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}_do"
    given = {"text": text} | more
    response = browser.post(reverse(name, args=[row.pk, action]), given)
    assert response.status_code in {200, 302}
    row.refresh_from_db()
    return [str(message) for message in get_messages(response.wsgi_request)]


def seen_on(browser, url, name="seen"):
    """What tells the rows of a page from later ones, as its forms carry it."""
    html = browser.get(url).content.decode()
    return re.search(rf'name="{name}" value="([^"]*)"', html)[1]


def page(row, name="change"):
    return reverse(
        f"admin:{row._meta.app_label}_{row._meta.model_name}_{name}", args=[row.pk]
    )


@pytest.fixture
def memory(project, alice):
    draft = Draft(content="Berths are counted from the north", memory_type="learning")
    return write.store(project, draft, alice).memory


@pytest.mark.django_db
class TestMemories:
    def test_it_confirms_a_memory(self, curator, memory):
        do(curator, memory, "verify")

        assert memory.verified_at
        assert AuditEvent.objects.filter(
            verb="memory.verify", actor="user:bob"
        ).exists()

    def test_it_deletes_with_a_reason_and_restores(self, curator, memory):
        do(curator, memory, "delete", "it is wrong")
        assert memory.delete_reason == "it is wrong"

        do(curator, memory, "restore")
        assert memory.deleted_at is None

    def test_a_reason_is_refused_rather_than_cut(self, curator, memory):
        [message] = do(curator, memory, "delete", "r" * 501)

        assert "501 characters" in message
        assert memory.deleted_at is None

    def test_it_supersedes_by_the_id_of_another(self, curator, project, alice, memory):
        draft = Draft(
            content="Berths start at the pilot station", memory_type="learning"
        )
        newer = write.store(project, draft, alice).memory

        do(curator, memory, "supersede", str(newer.pk))

        assert memory.superseded_by == newer

    @pytest.mark.parametrize("typed", ["zebra", "00000000-0000-7000-8000-000000000000"])
    def test_it_shows_a_refusal_as_a_message(self, curator, memory, typed):
        told = do(curator, memory, "supersede", typed)

        assert memory.superseded_by is None
        assert len(told) == 1

    @pytest.mark.parametrize("action", ["verify", "supersede", "delete"])
    def test_a_row_changed_since_the_page_stays_as_it_is(
        self, curator, project, alice, memory, action
    ):
        draft = Draft(content="Berths start at the pier", memory_type="learning")
        newer = write.store(project, draft, alice).memory
        seen = seen_on(curator, page(memory))
        changed = {"content": "Berths are counted from the south"}
        version = update.update_memory(memory, changed, alice, memory.version).version

        [told] = do(curator, memory, action, str(newer.pk), seen=seen)

        assert "has changed since" in told
        assert memory.version == version

    def test_the_answer_to_a_refused_action_has_no_other_form(self, curator, memory):
        url = reverse("admin:memories_memory_do", args=[memory.pk, "supersede"])

        html = curator.post(url, {"text": "zebra"}).content.decode()

        assert 'name="text" value="zebra"' in html
        assert 'name="title"' not in html
        assert 'name="_save"' not in html

    def test_it_lets_a_viewer_only_read(self, browser_of, memory):
        viewer = browser_of(Role.VIEWER)

        html = viewer.get(page(memory)).content.decode()
        do(viewer, memory, "delete")

        assert "am-actions" not in html
        assert "Berths are counted" in html
        assert memory.deleted_at is None

    def test_it_accepts_only_a_post(self, curator, memory):
        url = reverse("admin:memories_memory_do", args=[memory.pk, "delete"])

        assert curator.get(url).status_code == 405

    def test_it_acts_on_the_chosen_rows_of_a_list(self, curator, memory):
        chosen = {"action": "verify", "_selected_action": [str(memory.pk)]}

        curator.post(reverse("admin:memories_memory_changelist"), chosen)

        memory.refresh_from_db()
        assert memory.verified_at

    def test_a_row_changed_since_the_list_stays_as_it_is(self, curator, alice, memory):
        memories, name = (
            reverse("admin:memories_memory_changelist"),
            f"seen-{memory.pk}",
        )
        chosen = {
            "action": "delete",
            "_selected_action": [str(memory.pk)],
            name: seen_on(curator, memories, name),
        }
        verify.verify_memory(memory, alice)

        curator.post(memories, chosen)

        memory.refresh_from_db()
        assert memory.deleted_at is None

        version = memory.version
        curator.post(memories, chosen | {name: version})

        memory.refresh_from_db()
        assert memory.deleted_at


def form_of(memory, **changes):
    return {
        "title": memory.title,
        "content": memory.content,
        "memory_type": memory.memory_type,
        "tags": ", ".join(memory.tags),
        "sensitivity": memory.sensitivity,
        "confidence": "",
        "outcome": "",
        "lessons": "",
        "expires_at_0": "",
        "expires_at_1": "",
        "version": memory.version,
    } | changes


def sent_by_a_browser(text):
    return "\r\n".join(text.splitlines())


@pytest.mark.django_db
class TestEditingAMemory:
    def test_it_writes_the_change_its_history_and_its_audit_row(self, curator, memory):
        changed = form_of(
            memory, content="Berths are counted from the south", tags="a, b"
        )

        response = curator.post(page(memory), changed)

        memory.refresh_from_db()
        assert response.status_code == 302
        assert memory.content == "Berths are counted from the south"
        assert memory.tags == ["a", "b"]
        change = MemoryChange.objects.filter(memory_id=memory.pk).first()
        assert (change.action, change.actor) == ("update", "user:bob")
        assert Memory.objects.filter(pk=memory.pk, content_tsv="south").exists()

    def test_it_leaves_tags_alone_that_have_commas_and_spaces(self, curator, memory):
        Memory.objects.filter(pk=memory.pk).update(tags=["salt, fresh", " sea "])
        typed = '"salt, fresh", " sea "'

        assert escape(typed) in curator.get(page(memory)).content.decode()
        changed = form_of(memory, content="Berths are counted from here", tags=typed)
        assert curator.post(page(memory), changed).status_code == 302

        memory.refresh_from_db()
        assert memory.tags == ["salt, fresh", " sea "]
        change = MemoryChange.objects.filter(memory_id=memory.pk).first()
        assert "tags" not in change.after

    def test_it_keeps_the_input_when_the_memory_has_changed(self, curator, memory):
        stale = form_of(memory, content="A text from yesterday", version=99)

        response = curator.post(page(memory), stale)

        memory.refresh_from_db()
        assert response.status_code == 200
        assert "A text from yesterday" in response.content.decode()
        assert memory.content == "Berths are counted from the north"

    @pytest.mark.parametrize("ending", ["\n", "\r\n", "\n ", "\r"])
    def test_line_breaks_of_the_browser_are_no_change(self, curator, memory, ending):
        content = f"Count the berths{ending}{ending}Counted from the north{ending}"
        Memory.objects.filter(pk=memory.pk).update(content=content)
        sent = sent_by_a_browser(content)

        curator.post(page(memory), form_of(memory, content=sent, title="Berths"))

        memory.refresh_from_db()
        assert (memory.title, memory.content) == ("Berths", content)

    def test_it_stores_line_breaks_as_the_api_does(self, curator, memory):
        typed = sent_by_a_browser("Count the berths\n\nCounted from the south")

        curator.post(page(memory), form_of(memory, content=typed))

        memory.refresh_from_db()
        assert memory.content == "Count the berths\n\nCounted from the south"

    def test_it_shows_that_a_text_is_too_short(self, curator, memory):
        response = curator.post(page(memory), form_of(memory, content="short"))

        assert response.status_code == 200
        assert "at least 10 characters" in response.content.decode()

    def test_it_refuses_a_viewer(self, browser_of, memory):
        viewer = browser_of(Role.VIEWER)

        response = viewer.post(
            page(memory), form_of(memory, content="Mine from now on")
        )

        memory.refresh_from_db()
        assert response.status_code == 403
        assert memory.content == "Berths are counted from the north"


@pytest.mark.django_db
class TestPossibleDuplicates:
    def test_a_side_changed_since_the_page_is_not_merged(
        self, curator, project, alice, memory
    ):
        draft = Draft(content="Berths count from the north", memory_type="learning")
        newer = write.store(project, draft, alice).memory
        pair = PossibleDuplicate.objects.create(
            project=project, memory=newer, other=memory, similarity=0.9
        )
        seen = seen_on(curator, page(pair))
        verify.verify_memory(memory, alice)

        [told] = do(curator, pair, "merge", seen=seen)

        assert "has changed since" in told
        assert pair.state == "open"


@pytest.mark.django_db
class TestTags:
    def test_it_makes_one_in_a_project_of_the_person(self, curator, project):
        made = {
            "project": project.pk,
            "name": "berths",
            "description": "",
            "category": "",
        }

        curator.post(reverse("admin:memories_tag_add"), made)

        assert Tag.objects.filter(project=project, name="berths").exists()

    def test_it_makes_none_in_another_project(self, charlies, project):
        made = {
            "project": project.pk,
            "name": "berths",
            "description": "",
            "category": "",
        }

        response = charlies.post(reverse("admin:memories_tag_add"), made)

        assert response.status_code == 200
        assert not Tag.objects.filter(name="berths").exists()

    def test_it_renames_it_in_every_memory(self, curator, project, alice):
        draft = Draft(
            content="Berths are counted from the north",
            memory_type="learning",
            tags=("old",),
        )
        memory = write.store(project, draft, alice).memory
        tag = Tag.objects.get(name="old")

        curator.post(page(tag), {"name": "new", "description": "", "category": ""})

        memory.refresh_from_db()
        assert memory.tags == ["new"]

    def test_it_merges_it_into_another(self, curator, project, alice):
        tag = tags.create(project, alice, name="berth")
        tags.create(project, alice, name="berths")

        response = curator.post(
            reverse("admin:memories_tag_do", args=[tag.pk, "merge"]), {"text": "berths"}
        )

        assert response.url == reverse("admin:memories_tag_changelist")
        assert not Tag.objects.filter(name="berth").exists()


@pytest.fixture
def proposed(project):
    return PlaybookDelta.objects.create(
        project=project,
        operation="add",
        content="Count the berths from the north, as harbour/berths.py does.",
        category="gotchas",
        producer="rule",
        proposed_by="key:am_other",
        idempotency_key="one",
    )


@pytest.mark.django_db
class TestDeltas:
    def test_it_accepts_one(self, curator, proposed):
        do(curator, proposed, "accept")

        assert proposed.status == "accepted"
        assert proposed.reviewer == "user:bob"
        assert PlaybookEntry.objects.get().content == proposed.content
        assert AuditEvent.objects.filter(verb="delta.accept").exists()

    def test_it_edits_and_accepts_one(self, curator, proposed):
        do(curator, proposed, "edit", "Count the berths from the south side.")

        assert PlaybookEntry.objects.get().content.endswith("south side.")
        assert proposed.status == "edited"

    def test_an_edit_has_the_line_breaks_of_the_api(self, curator, proposed):
        do(curator, proposed, "edit", sent_by_a_browser("Count:\n- berths\n- piers"))

        assert PlaybookEntry.objects.get().content == "Count:\n- berths\n- piers"

    def test_it_rejects_one_with_a_reason(self, curator, proposed):
        do(curator, proposed, "reject", "too vague")

        assert (proposed.status, proposed.review_note) == ("rejected", "too vague")

    @pytest.mark.parametrize("action", ["accept", "edit", "reject", "undo"])
    def test_one_changed_since_the_page_is_not_decided(self, curator, proposed, action):
        if action == "undo":
            do(curator, proposed, "accept")
        status, seen = proposed.status, seen_on(curator, page(proposed))
        PlaybookDelta.objects.update(
            content="Count no berths.", version=F("version") + 1
        )

        *_, told = do(curator, proposed, action, "Count the berths twice.", seen=seen)

        assert "has changed since" in told
        assert proposed.status == status

    @pytest.mark.parametrize("rule", ["Use AKIAZ7Q3M5T2XW4KLP6V.", "Count\n<b>&berths"])
    def test_a_refused_edit_keeps_its_text(self, curator, proposed, rule):
        url = reverse("admin:playbook_playbookdelta_do", args=[proposed.pk, "edit"])
        stale = {} if "AKIA" in rule else {"seen": "0"}

        html = curator.post(url, {"text": rule} | stale).content.decode()

        row_actions = html[html.index('<div class="am-actions"') :]
        opened = row_actions[row_actions.index('<details class="am-action" open>') :]
        assert re.search(r"<summary[^>]*>([^<]*)", opened)[1] == "Edit and accept"
        assert f">{escape(rule)}</textarea>" in opened
        assert f'name="seen" value="{proposed.version}"' in opened

    def test_an_edit_of_one_decided_meanwhile_keeps_its_text(self, curator, proposed):
        do(curator, proposed, "accept")
        url = reverse("admin:playbook_playbookdelta_do", args=[proposed.pk, "edit"])

        html = curator.post(url, {"text": "Count them twice."}).content.decode()

        assert ">Count them twice.</textarea>" in html

    def test_an_edit_may_be_as_long_as_a_rule(self, curator, proposed):
        html = curator.get(page(proposed)).content.decode()

        assert 'maxlength="4000" required dir="auto">Count the berths' in html

    def test_it_undoes_one(self, curator, proposed):
        do(curator, proposed, "accept")
        do(curator, proposed, "undo")

        assert proposed.status == "reverted"
        assert not PlaybookEntry.objects.current().exists()

    def test_it_says_that_another_was_faster(self, curator, proposed):
        do(curator, proposed, "accept")

        told = do(curator, proposed, "reject", "wrong")

        assert "accepted" in told[-1]
        assert proposed.status == "accepted"

    def test_it_lets_a_writer_decide_nothing(self, browser_of, proposed):
        do(browser_of(Role.WRITER), proposed, "accept")

        assert proposed.status == "pending"

    def test_it_accepts_several_from_the_list(self, curator, proposed):
        chosen = {"action": "accept", "_selected_action": [str(proposed.pk)]}

        curator.post(reverse("admin:playbook_playbookdelta_changelist"), chosen)

        proposed.refresh_from_db()
        assert proposed.status == "accepted"


ENTRY = {
    "content": "Never cache the availability of berths; read it from the primary.",
    "category": "gotchas",
    "condition": "",
    "action": "",
    "priority": "0",
    "tags": "berths",
    "reason": "two boats met",
    "review_after_0": "",
    "review_after_1": "",
}


@pytest.mark.django_db
class TestEntries:
    def test_it_adds_one_through_a_delta_of_its_own(self, curator, project):
        curator.post(
            reverse("admin:playbook_playbookentry_add"), ENTRY | {"project": project.pk}
        )

        entry = PlaybookEntry.objects.get()
        assert (entry.author_kind, entry.tags) == ("human", ["berths"])
        assert PlaybookDelta.objects.get().entry == entry
        assert PlaybookChange.objects.get().reason == "two boats met"

    def test_it_changes_deletes_and_restores_one(self, curator, project):
        curator.post(
            reverse("admin:playbook_playbookentry_add"), ENTRY | {"project": project.pk}
        )
        entry = PlaybookEntry.objects.get()

        changed = ENTRY | {"priority": "5", "version": entry.version}
        assert curator.post(page(entry), changed).status_code == 302
        entry.refresh_from_db()
        assert entry.priority == 5

        do(curator, entry, "delete", "obsolete")
        assert entry.status == "deleted"
        do(curator, entry, "restore")
        assert entry.status == "active"

    def test_one_that_contradicts_another_leads_to_the_choice(self, curator, project):
        url = reverse("admin:playbook_playbookentry_add")
        curator.post(url, ENTRY | {"project": project.pk})
        opposite = ENTRY["content"].replace("Never", "Always")

        answer = curator.post(url, ENTRY | {"project": project.pk, "content": opposite})

        conflict = Conflict.objects.get()
        page_of_it = reverse("console:inbox_conflict", args=[conflict.pk])
        assert answer.url.startswith(page_of_it)
        assert (conflict.delta.content, conflict.delta.status) == (opposite, "pending")
        assert PlaybookEntry.objects.get().content == ENTRY["content"]

    def test_one_changed_since_the_page_stays(self, curator, project, alice):
        wanted = {"content": ENTRY["content"], "category": "gotchas"}
        wanted = person_edits.addition(wanted, alice, reason="")
        entry = person_edits.submit_edit(project, wanted, alice).entry
        seen = seen_on(curator, page(entry))
        reword(entry, alice, "Cache the availability of berths for a minute.")

        [told] = do(curator, entry, "delete", seen=seen)

        assert "has changed since" in told
        assert entry.status == "active"

    def test_its_line_breaks_do_not_change(self, curator, an_entry):
        entry = an_entry("gotchas-00001", content="Never cache:\n- berths\n- piers")
        lines = sent_by_a_browser(entry.content)
        changed = {"content": lines, "priority": "5", "version": entry.version}

        curator.post(page(entry), ENTRY | changed)

        stored = PlaybookEntry.objects.get()
        assert (stored.priority, stored.content) == (5, entry.content)
        assert stored.author_kind == "rule"

    def test_it_refuses_a_category_that_the_project_does_not_have(
        self, curator, project
    ):
        wrong = ENTRY | {"project": project.pk, "category": "zebras"}

        response = curator.post(reverse("admin:playbook_playbookentry_add"), wrong)

        assert response.status_code == 200
        assert "Must be one of" in response.content.decode()
        assert not PlaybookEntry.objects.exists()


@pytest.mark.django_db
class TestJobs:
    def test_it_retries_and_discards_a_failed_one_with_an_audit_row(
        self, curator, project
    ):
        job = Job.objects.create(kind="embed", project_id=project.pk, state="failed")

        do(curator, job, "retry")
        assert job.state == "waiting"
        do(curator, job, "cancel")
        assert job.state == "cancelled"
        verbs = AuditEvent.objects.filter(object_id=str(job.pk)).values_list("verb")
        assert {verb for (verb,) in verbs} == {"job.retry", "job.cancel"}

    def test_it_refuses_to_retry_one_that_runs(self, curator, project):
        job = Job.objects.create(kind="embed", project_id=project.pk, state="running")

        told = do(curator, job, "retry")

        assert "must be failed" in told[0]


@pytest.mark.django_db
class TestProjects:
    def fields(self, **more):
        return {
            "name": "harbour",
            "description": "",
            "repository_url": "",
            "current_branch": "",
            "settings": "{}",
        } | more

    def test_it_makes_one_that_the_person_owns(self, charlies):
        charlies.post(reverse("admin:projects_project_add"), self.fields())

        member = Membership.objects.get(project__name="harbour")
        assert (member.account, member.role) == (charlies.account, Role.OWNER)

    def test_it_changes_settings_and_resets_removed_ones(self, owner, project):
        changed = self.fields(
            settings='{"policy": "manual", "dedup": {"threshold": 0.9}}',
            version=project.version,
        )
        owner.post(page(project), changed)
        project.refresh_from_db()
        assert project.options.dedup.threshold == 0.9

        owner.post(page(project), self.fields(version=project.version))
        project.refresh_from_db()
        assert project.settings in ({}, {"dedup": {}})
        assert project.options.policy == "assisted"

    def test_an_unchanged_setting_is_not_sent(self, owner, project):
        settings = '{"search": {"language": "german"}}'
        owner.post(
            page(project), self.fields(settings=settings, version=project.version)
        )
        project.refresh_from_db()
        Job.objects.filter(kind="reindex").update(state="cancelled")

        same = self.fields(settings=settings, version=project.version)
        owner.post(page(project), same | {"description": "All about ships"})

        project.refresh_from_db()
        assert project.description == "All about ships"
        assert Job.objects.get(kind="reindex").state == "cancelled"

    def test_it_shows_what_is_wrong_with_a_setting(self, owner, project):
        wrong = self.fields(settings='{"policy": "zebra"}', version=project.version)

        html = owner.post(page(project), wrong).content.decode()

        assert "policy: Input should be" in html

    def test_it_deletes_and_restores_one(self, owner, project):
        do(owner, project, "delete")
        assert project.delete_after

        do(owner, project, "restore")
        assert project.delete_after is None

    def test_it_restores_none_past_its_grace_period(self, owner, project):
        Project.objects.update(delete_after=timezone.now())

        html = owner.get(page(project)).content.decode()
        told = do(owner, project, "restore")

        assert "/do/restore/" not in html
        assert "can no longer be restored" in told[0]
        assert project.delete_after

    def test_it_lets_a_curator_change_nothing(self, curator, project):
        curator.post(page(project), self.fields())
        do(curator, project, "delete")

        assert project.name == "alpha"
        assert Project.objects.live().filter(pk=project.pk).exists()


@pytest.mark.django_db
class TestMembers:
    def test_it_adds_changes_and_removes_one_by_name(self, owner, project):
        person("dave")
        made = {"project": project.pk, "username": "dave", "role": Role.VIEWER.value}

        owner.post(reverse("admin:projects_membership_add"), made)
        member = Membership.objects.get(account__username="dave")
        owner.post(page(member), {"role": Role.CURATOR.value})
        member.refresh_from_db()
        assert member.role == Role.CURATOR

        owner.post(reverse("admin:projects_membership_do", args=[member.pk, "remove"]))
        assert not Membership.objects.filter(account__username="dave").exists()

    def test_it_says_that_there_is_no_such_account(self, owner, project):
        made = {"project": project.pk, "username": "nobody", "role": Role.VIEWER.value}

        html = owner.post(
            reverse("admin:projects_membership_add"), made
        ).content.decode()

        assert "No active account" in html

    def test_it_adds_nobody_to_another_project(self, charlies, project):
        made = {"project": project.pk, "username": "charlie", "role": Role.OWNER.value}

        charlies.post(reverse("admin:projects_membership_add"), made)

        assert not Membership.objects.filter(
            project=project, account=charlies.account
        ).exists()


@pytest.mark.django_db
class TestKeys:
    def fields(self, *projects, **more):
        return {
            "name": "agent",
            "role": Role.WRITER.value,
            "projects": [project.pk for project in projects],
            "agent_id": "",
            "user_id": "",
            "expires_at_0": "",
            "expires_at_1": "",
        } | more

    def test_it_shows_the_secret_once(self, superuser, project):
        url = reverse("admin:access_apikey_add")

        first = superuser.post(url, self.fields(project), follow=True).content.decode()
        again = superuser.get(
            reverse("admin:access_apikey_changelist")
        ).content.decode()

        key = ApiKey.objects.get()
        assert list(key.projects.all()) == [project]
        assert key.account == superuser.account
        assert first.count("am_") > again.count("am_")
        secret = first.partition('am-secret">')[2].partition("</code>")[0]
        assert secret.startswith(key.prefix)
        assert secret not in again

    def test_it_makes_a_key_for_every_project_for_a_superuser_only(
        self, superuser, owner
    ):
        superuser.post(reverse("admin:access_apikey_add"), self.fields())
        assert ApiKey.objects.get().everywhere

        html = owner.post(reverse("admin:access_apikey_add"), self.fields())
        assert "name the projects" in html.content.decode()
        assert ApiKey.objects.count() == 1

    def test_it_offers_no_other_projects(self, owner, other_project):
        response = owner.post(
            reverse("admin:access_apikey_add"), self.fields(other_project)
        )

        assert response.status_code == 200
        assert not ApiKey.objects.exists()

    def test_it_revokes_one(self, owner, project):
        owner.post(reverse("admin:access_apikey_add"), self.fields(project))
        key = ApiKey.objects.get()

        do(owner, key, "revoke")

        assert not key.is_usable
        assert AuditEvent.objects.filter(
            verb="key.revoked", actor="user:alice"
        ).exists()

    def test_it_shows_a_hostile_name_as_text(self, owner, project):
        hostile = "<script>alert(1)</script>"

        html = owner.post(
            reverse("admin:access_apikey_add"),
            self.fields(project, name=hostile),
            follow=True,
        ).content.decode()

        assert hostile not in html


@pytest.mark.django_db
class TestAccounts:
    def test_it_asks_for_a_name_and_a_password(self, superuser):
        html = superuser.get(reverse("admin:auth_user_add")).content.decode()

        for name in ("username", "password1", "password2"):
            assert f'name="{name}"' in html

    def test_it_makes_one_and_writes_an_audit_row(self, superuser):
        made = {
            "username": "erin",
            "usable_password": "true",
            "password1": "a-long-phrase-9",
            "password2": "a-long-phrase-9",
        }

        response = superuser.post(reverse("admin:auth_user_add"), made)

        assert response.status_code == 302
        assert AuditEvent.objects.filter(verb="account.created").exists()

    def test_it_deletes_a_member_with_the_memberships(
        self, superuser, project, other_project
    ):
        dave = person("dave")
        for place in (project, other_project):
            Membership.objects.create(project=place, account=dave, role=Role.OWNER)

        answer = superuser.post(page(dave, "delete"), {"post": "yes"})

        assert answer.status_code == 302
        assert not User.objects.filter(username="dave").exists()
        assert AuditEvent.objects.filter(verb="account.deleted").exists()
        told = AuditEvent.objects.filter(verb="member.removed")
        assert {event.project_id for event in told} == {project.pk, other_project.pk}
        assert {event.detail["username"] for event in told} == {"dave"}

    def test_it_revokes_the_keys_of_a_deleted_person(self, superuser, client_of):
        dave = person("dave")
        theirs, other = client_of(account=dave), client_of()

        superuser.post(page(dave, "delete"), {"post": "yes"})

        assert theirs.get("/api/v1/projects").status_code == 401
        assert other.get("/api/v1/projects").status_code == 200
        event = AuditEvent.objects.get(verb="key.revoked")
        assert event.object_id == str(theirs.key.pk)


@pytest.mark.django_db
class TestConflicts:
    @pytest.fixture
    def conflict(self, project, alice):
        """Two active rules, as older versions left them."""
        texts = ("Moor at the north berth.", "Never moor at the north berth.")
        older, newer = (
            person_edits.addition(
                {"content": text, "category": "gotchas"}, alice, reason=""
            )
            for text in texts
        )
        left = person_edits.submit_edit(project, older, alice).entry
        with pytest.raises(Contradiction) as refusal:
            person_edits.submit_edit(project, newer, alice)
        apply_beside(refusal.value.delta, alice)
        Conflict.objects.all().delete()
        right = PlaybookEntry.objects.light().get(content=texts[1])
        return Conflict.objects.create(
            project=project, left=left, right=right, reason="negation: never"
        )

    def test_it_shows_both_sides(self, curator, conflict):
        html = curator.get(page(conflict)).content.decode()

        assert "Moor at the north berth." in html
        assert "Never moor at the north berth." in html

    @pytest.mark.parametrize(
        ("action", "text", "state", "statuses"),
        [
            ("supersede", "the newer", "superseded", ["superseded", "active"]),
            ("supersede", "the older", "superseded", ["active", "superseded"]),
            ("split", "at low tide\nat high tide", "split", ["active", "active"]),
            ("reject", "no", "rejected", ["active", "deprecated"]),
        ],
    )
    def test_a_curator_decides(self, curator, conflict, action, text, state, statuses):
        do(curator, conflict, action, text)

        assert conflict.state == state
        rows = PlaybookEntry.objects.light().order_by("pk")
        assert [row.status for row in rows] == statuses

    def test_the_decision_on_the_page_is_undone(self, curator, conflict):
        do(curator, conflict, "reject", "no")

        do(curator, conflict, "reopen", seen=seen_on(curator, page(conflict)))

        assert conflict.state == "open"

    def test_another_decision_is_not_undone(self, curator, conflict):
        do(curator, conflict, "reject", "no")
        seen = seen_on(curator, page(conflict))
        Conflict.objects.update(decided_at=timezone.now())

        *_, told = do(curator, conflict, "reopen", seen=seen)

        assert "has changed since" in told
        assert conflict.state == "rejected"

    @pytest.mark.parametrize("side", ["left", "right"])
    @pytest.mark.parametrize(
        ("action", "text"),
        [
            ("supersede", "the newer"),
            ("split", "at low tide\nat high tide"),
            ("reject", "no"),
        ],
    )
    def test_a_side_changed_since_the_page_is_not_decided(
        self, curator, conflict, side, action, text
    ):
        seen = seen_on(curator, page(conflict))
        entry = getattr(conflict, side)
        PlaybookEntry.objects.filter(pk=entry.pk).update(version=F("version") + 1)

        [told] = do(curator, conflict, action, text, seen=seen)

        assert "has changed since" in told
        assert conflict.state == "open"

    def test_a_split_asks_for_two_conditions(self, curator, conflict):
        assert '<textarea name="text"' in curator.get(page(conflict)).content.decode()

        [told] = do(curator, conflict, "split", "at low tide")

        assert "two lines" in told
        assert conflict.state == "open"
