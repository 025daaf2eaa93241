"""The pages of keys and the audit log: a secret shown once, the log as a file."""

from __future__ import annotations

import ast
import csv
import io
import re
import uuid

import pytest
from django.contrib.messages import get_messages
from django.urls import reverse
from django.utils.safestring import SafeString
from rest_framework.test import APIClient

from access.models import ApiKey
from audit import csv_export
from audit.admin import PAGES
from audit.models import AuditEvent
from common.caller import Role
from tests.admin.conftest import MARK, SCRIPT
from tests.admin.test_rows import do
from tests.isolation.test_view_lint import files

pytestmark = pytest.mark.django_db

CSV = reverse("admin:audit_auditevent_csv")
LOG = reverse("admin:audit_auditevent_changelist")
SECRET = re.compile(r'<code class="am-secret">(am_[\w-]+)</code>')


@pytest.fixture
def key(project):
    key, _ = ApiKey.new(name=SCRIPT[:100], role=Role.WRITER)
    key.save()
    key.projects.set([project])
    return key


def opens(secret):
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client.get("/api/v1/projects").status_code == 200


class TestAKey:
    def test_its_secret_is_shown_once_with_a_copy_button(self, owner, project):
        data = {"name": SCRIPT[:100], "role": 2, "projects": [str(project.pk)]}

        after = owner.post(reverse("admin:access_apikey_add"), data, follow=True)

        html = after.content.decode()
        assert opens(SECRET.search(html)[1])
        assert "data-copy hidden" in html
        assert "admin/copy.js" in html
        assert "<script>alert" not in html
        again = owner.get(reverse("admin:access_apikey_changelist")).content.decode()
        assert not SECRET.search(again)

    def test_an_owner_rotates_it_and_the_old_one_ends(self, owner, key):
        [told, _] = do(owner, key, "rotate", "no longer")

        assert opens(SECRET.search(told)[1])
        assert "<script>" not in told
        assert key.replaced_by
        assert not key.is_usable
        assert AuditEvent.objects.filter(verb="key.rotated").exists()

    def test_the_old_key_stays_usable_for_the_overlap(self, owner, key):
        do(owner, key, "rotate", "an hour")

        assert key.is_usable
        assert key.revoked_at

    def test_it_is_rotated_once(self, owner, key):
        do(owner, key, "rotate", "a day")

        *_, told = do(owner, key, "rotate", "a day")

        assert "is replaced already" in told
        page = reverse("admin:access_apikey_change", args=[key.pk])
        assert "do/rotate" not in owner.get(page).content.decode()

    def test_another_overlap_is_refused_in_words(self, owner, key):
        [told] = do(owner, key, "rotate", "zebra")

        assert "Choose one of a day" in told
        assert not key.replaced_by

    @pytest.mark.parametrize("name", ["curator", "charlies"])
    def test_nobody_else_rotates_it(self, request, key, name):
        browser = request.getfixturevalue(name)
        url = reverse("admin:access_apikey_do", args=[key.pk, "rotate"])

        browser.post(url, {"text": "a day"})

        key.refresh_from_db()
        assert not key.replaced_by


def test_a_note_of_an_action_is_escaped_unless_it_is_safe(owner, key):
    url = reverse("admin:access_apikey_do", args=[key.pk, "rotate"])

    answer = owner.post(url, {"text": "a day"})

    [note, _] = get_messages(answer.wsgi_request)
    assert isinstance(note.message, SafeString)
    assert "&lt;script&gt;" in note.message


def rows_of(answer):
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def an_event(project, **fields):
    given = {"verb": "v", "actor": "a", "project_id": project.pk} | fields
    return AuditEvent.objects.create(**given)


def recorded_types():
    """Return every `object_type` in the code."""
    for path in files():
        for node in ast.walk(ast.parse(path.read_text())):
            yield from literal(node)


def literal(node):
    """Of `record(object_type="x")`, or of a class's `object_type = "x"`."""
    is_given = isinstance(node, ast.keyword) and node.arg == "object_type"
    is_set = isinstance(node, ast.Assign) and "object_type" in map(
        ast.unparse, node.targets
    )
    if (is_given or is_set) and isinstance(node.value, ast.Constant):
        yield node.value.value


class TestWhatAnEventTellsOf:
    # A refused request names its path; the others are shown by a page about more.
    WITHOUT_A_PAGE = {
        "route",
        "possible_duplicate",
        "digest_config",
        "agent_tool",
        "memory_switch",
    }

    def test_every_kind_has_a_page(self):
        assert set(recorded_types()) == {*PAGES} | self.WITHOUT_A_PAGE

    def test_it_is_linked(self, owner, project):
        ids = {kind: 7 if kind == "account" else uuid.uuid4() for kind in PAGES}
        for kind, pk in ids.items():
            an_event(project, object_type=kind, object_id=str(pk))

        html = owner.get(LOG).content.decode()

        links = {kind: reverse(PAGES[kind], args=[pk]) for kind, pk in ids.items()}
        assert not [kind for kind, link in links.items() if f'"{link}' not in html]


class TestTheLogAsAFile:
    def test_it_has_every_event_that_an_owner_sees(self, owner, project):
        an_event(project, actor="Zoë, 林", detail={"name": SCRIPT})

        answer = owner.get(CSV)

        assert answer.streaming
        assert 'filename="audit.csv"' in answer["Content-Disposition"]
        [row] = rows_of(answer)
        assert (row["verb"], row["actor"]) == ("v", "Zoë, 林")
        assert "zebrafinch" in row["detail"]

    def test_it_respects_the_filters_of_the_list(self, owner, project):
        an_event(project, verb="key.issued", actor="alice")
        an_event(project, verb="key.revoked", actor="bob")

        html = owner.get(f"{LOG}?verb=key&actor=bob").content.decode()

        assert f"{CSV}?verb=key&amp;actor=bob" in html
        assert [r["actor"] for r in rows_of(owner.get(f"{CSV}?actor=bob"))] == ["bob"]

    @pytest.mark.parametrize(
        "typed", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1"]
    )
    def test_no_cell_is_a_formula(self, owner, project, typed):
        an_event(project, actor=typed)

        [row] = rows_of(owner.get(CSV))

        assert row["actor"] == f"'{typed}"

    def test_other_cells_stay_as_they_are(self):
        plain = ["a=1", "", "key:am_1", "{}", "10.0.0.1"]

        assert [csv_export.escape_cell(text) for text in plain] == plain

    def test_charlie_gets_nothing_of_alices(self, charlies, project):
        an_event(project, actor=MARK)

        assert rows_of(charlies.get(CSV)) == []

    def test_a_curator_is_refused(self, curator, project):
        assert curator.get(CSV).status_code == 403

    def test_a_wrong_filter_is_no_error(self, owner, project):
        for query in ("at_from=zebra", "p=zebra", "key_id=%F0%9F%98%80", "o=99.x"):
            assert owner.get(f"{CSV}?{query}", follow=True).status_code == 200
