"""Forms and buttons of the admin call the product's functions and write audit rows."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from access.models import ApiKey
from ace import run as runs
from ace.models import AceRun
from audit.models import AuditEvent
from common.caller import Role
from jobs.models import Job
from memories.models import Memory, MemoryChange, Tag
from memories.store import tags, write
from memories.store.drafts import Draft
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry
from projects.models import Membership, Project
from tests.admin.conftest import person


def do(browser, row, action, text=""):
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}_do"
    response = browser.post(reverse(name, args=[row.pk, action]), {"text": text})
    assert response.status_code == 302
    row.refresh_from_db()
    return [str(message) for message in get_messages(response.wsgi_request)]


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

        assert "Shorten the text" in message
        assert memory.deleted_at is None

    def test_it_accepts_only_a_post(self, curator, memory):
        url = reverse("admin:memories_memory_do", args=[memory.pk, "delete"])

        assert curator.get(url).status_code == 405


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

    def test_a_deleted_one_is_read_but_not_edited(self, curator, memory):
        assert 'name="_save"' in curator.get(page(memory)).content.decode()
        do(curator, memory, "delete", "untrue")

        html = curator.get(page(memory)).content.decode()

        assert 'name="_save"' not in html
        assert "do/restore" in html
        assert "Berths are counted" in html

    def test_its_history_shows_the_words_that_changed(self, curator, memory):
        changed = form_of(memory, content="Berths are counted from the south")
        curator.post(page(memory), changed)

        html = curator.get(page(memory, "history")).content.decode()

        assert "<del>north</del><ins>south</ins>" in html


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

    def test_a_curator_says_that_it_still_holds(self, curator, an_entry):
        entry = an_entry("gotchas-00001")

        do(curator, entry, "verify", "looked at it")

        assert entry.verified_at
        assert PlaybookChange.objects.get().reason == "looked at it"


@pytest.mark.django_db
class TestRuns:
    @pytest.fixture
    def broken(self, project, alice, monkeypatch):
        def breaks(run, caller):
            raise RuntimeError("no rope")

        task = {"agent_id": "coder", "goal": "Mend the import", "result": "Mended."}
        with monkeypatch.context() as patched:
            patched.setitem(runs.PHASES, "reflector", breaks)
            run = runs.complete(project, task, alice)
        AceRun.objects.filter(pk=run.pk).update(state="failed")
        return run

    def test_a_writer_resumes_it_where_it_failed(self, browser_of, broken):
        writer = browser_of(Role.WRITER)
        assert "no rope" in writer.get(page(broken)).content.decode()

        do(writer, broken, "resume")

        assert broken.state == "done"
        assert "do/resume" not in writer.get(page(broken)).content.decode()

    def test_a_viewer_is_told_which_role_it_needs(self, browser_of, broken):
        [told] = do(browser_of(Role.VIEWER), broken, "resume")

        assert "needs the role writer" in told
        assert broken.state == "failed"


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


@pytest.mark.django_db
class TestAccounts:
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
