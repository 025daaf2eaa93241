"""The people who sign in, and the rows that they find."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from ace.models import AceRun
from common.caller import Role
from memories.store import write
from memories.store.drafts import Draft
from projects.models import Membership

PASSWORD = "a long phrase of harbours"
LONG = "W" * 50_000
HOSTILE = f'<script>document.title="taken"</script><img src=x onerror=alert(1)> \u202eabc {LONG}'


@pytest.fixture
def alices(project, alice):
    account = User.objects.create_user("alice", password=PASSWORD, is_staff=True)
    Membership.objects.create(project=project, account=account, role=Role.OWNER)
    draft = Draft(
        content="The tide feed sends local time without an offset",
        memory_type="discovery",
        tags=("tides",),
    )
    memory = write.store(project, draft, alice).memory
    AceRun.objects.create(
        project=project,
        memory=memory,
        agent_id="claude",
        actor="key:am_1",
        state="done",
        request={"goal": "Load the tide table", "result": HOSTILE},
        phases={"executor": {"status": "done", "took_ms": 12.5, "at": "2026-01-01"}},
    )
    return memory


def signed_in(page):
    page.open(reverse("admin:index"))
    page.page.fill("input[name=username]", "alice")
    page.page.fill("input[name=password]", PASSWORD)
    page.page.click("button[type=submit]")
    page.page.wait_for_selector(".am-cards")
    return page


@pytest.fixture
def sign_in(project):
    """Open the inbox as somebody who curates: `sign_in("bob", page)`."""

    def make(name, page, role=Role.CURATOR):
        account, _ = User.objects.get_or_create(username=name, is_staff=True)
        account.set_password(PASSWORD)
        account.save()
        Membership.objects.get_or_create(
            project=project, account=account, defaults={"role": role}
        )
        page.open(f"{reverse('admin:login')}?next={reverse('console:inbox')}")
        page.page.fill("input[name=username]", name)
        page.page.fill("input[name=password]", PASSWORD)
        page.page.click("button[type=submit]")
        page.page.wait_for_selector(".in-tabs")
        page.settle()
        return page

    return make
