"""A memory's page: where it came from, its files, and what changed, word by word."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from common.caller import Role
from common.ids import uuid7
from memories.lifecycle import supersede, update
from memories.models import MemoryExposure, MemoryFile
from memories.store import write
from memories.store.drafts import Draft, FileRef
from tests.admin.conftest import HOSTILE, MARK
from tests.admin.test_actions import do

pytestmark = pytest.mark.django_db


@pytest.fixture
def stored(project, alice):
    def make(content="Moor at the north berth.", **fields):
        draft = Draft(content=content, memory_type="learning", **fields)
        return write.store(project, draft, alice).memory

    return make


def page(browser, memory, name="change"):
    answer = browser.get(reverse(f"admin:memories_memory_{name}", args=[memory.pk]))
    assert answer.status_code == 200
    return answer.content.decode()


def related(html):
    """{what is told of this memory: id of the other} of the panel of its lineage."""
    panel = html[html.index("Lineage and duplicates") :]
    panel = panel[: panel.index("</section>")]
    pattern = r'<td>([a-z ]+)</td><td><a class="am-link" href="[^"]*/([0-9a-f-]{36})/'
    return dict(re.findall(pattern, panel))


class TestExposures:
    def test_its_page_names_the_call_that_gave_it_and_its_use(self, curator, stored):
        memory = stored()
        MemoryExposure.objects.create(
            project=memory.project,
            memory=memory,
            agent_id="coder-7",
            key_id=uuid7(),
            used_as="file",
            request_id="request-9",
        )

        html = page(curator, memory)

        assert "Given to agents: 1, used: 1" in html
        assert "coder-7" in html
        assert "request-9" in html
        assert "the task touched a file that it names" in html


class TestLineage:
    def test_both_sides_lead_to_each_other(self, browser_of, alice, stored):
        old, new = stored(), stored("Moor at the south berth.")
        supersede.supersede_memory(old, new, alice)
        viewer = browser_of(Role.VIEWER)

        assert related(page(viewer, old)) == {"was superseded by": str(new.pk)}
        assert related(page(viewer, new)) == {"supersedes": str(old.pk)}

    def test_a_duplicate_and_its_original_name_each_other(
        self, curator, stored, a_memory
    ):
        original = stored()
        double = a_memory(is_duplicate=True, duplicate_of=original)

        html = page(curator, original)

        assert related(html) == {"has the duplicate": str(double.pk)}
        assert "<td>duplicate</td>" in html
        assert related(page(curator, double)) == {"is a duplicate of": str(original.pk)}

    def test_rows_of_another_project_are_not_named(
        self, curator, a_memory, other_project
    ):
        theirs = a_memory(project=other_project)
        memory = a_memory(promoted_from=theirs.pk)

        html = page(curator, memory)

        assert str(theirs.pk) not in html[html.index("Lineage") :]


class TestADeletedMemory:
    def test_it_is_read_and_restored_but_not_edited(self, curator, stored):
        memory = stored("Say the sales in thousands.")
        assert 'name="_save"' in page(curator, memory)

        said = do(curator, memory, "delete", "untrue")

        assert said == ["Say the sales in thousands: deleted."]
        html = page(curator, memory)
        assert 'name="_save"' not in html
        restore = reverse("admin:memories_memory_do", args=[memory.pk, "restore"])
        assert restore in html
        assert "Say the sales in thousands." in html
        do(curator, memory, "restore")
        assert 'name="_save"' in page(curator, memory)


class TestFiles:
    def test_a_file_leads_to_its_graph(self, browser_of, project, stored):
        memory = stored(files=(FileRef("src/a.py"),))

        html = page(browser_of(Role.VIEWER), memory)

        url = f"{reverse('console:file')}?project={project.pk}&amp;path=src%2Fa.py"
        assert url in html
        link = MemoryFile.objects.get(memory=memory)
        row = reverse("admin:memories_file_change", args=[link.file_id])
        assert url in browser_of(Role.VIEWER, name="eve").get(row).content.decode()


class TestHistory:
    def test_an_edit_is_displayed_word_by_word(self, curator, alice, stored):
        memory = stored()
        update.update_memory(
            memory,
            {"content": "Moor at the south berth.", "tags": ["sea"]},
            alice,
            version=memory.version,
        )

        for name in ("change", "history"):
            html = page(curator, memory, name)
            assert "<del>north </del><ins>south </ins>" in html
            assert "tags: [] → [&quot;sea&quot;]" in html

    def test_hostile_words_are_text_and_bounded(self, curator, alice, stored):
        memory = stored(f"{MARK} {HOSTILE[:40_000]}")
        update.update_memory(
            memory, {"content": f"{MARK} b"}, alice, version=memory.version
        )

        html = page(curator, memory, "history")

        assert "<del>" in html
        assert "<script>alert" not in html
        assert "<img src=x" not in html
        assert len(html) < 200_000


def test_the_list_shows_the_lesson_of_a_task_first(curator, stored):
    stored("Goal: Report.\nSteps: a\nLessons: Use `--to`.", lessons="\nUse `--to`.")

    html = curator.get(reverse("admin:memories_memory_changelist")).content.decode()

    assert "Use `--to`.</bdi>" in html
    assert "Goal: Report." not in html
