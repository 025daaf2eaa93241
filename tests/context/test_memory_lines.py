"""Memory does no harm: what a task is given of earlier tasks, in small form."""

from __future__ import annotations

import pytest

from common.caller import Caller, Role
from context import task_context
from context.task_context import AtHand
from memories.lifecycle import supersede
from memories.models import MemoryFile
from memories.scopes import Scope
from memories.store import write
from memories.store.drafts import Draft, FileRef

TASK = "make the invoice export retry when the gateway answers 503"


@pytest.fixture
def store(project, alice):
    def make(content, **fields):
        draft = Draft(content=content, memory_type="learning", **fields)
        return write.store(project, draft, alice).memory

    return make


@pytest.fixture
def ask(project, alice):
    def get(task=TASK, caller=alice, **fields):
        return task_context.for_task(project, task, caller, **fields)

    return get


def ids(context):
    return [item.hit.memory.pk for item in context.memories]


class TestLine:
    def test_it_leads_with_what_happened_and_ends_with_the_day_and_the_id(
        self, store, ask
    ):
        memory = store(
            "The invoice export retries when the gateway answers 503.",
            kind="episode",
            goal="Make the invoice export robust",
            result="The invoice export waits and retries on 503.",
            feedback="Works, but log each retry of the export.",
            lessons="When the gateway answers 503, retry the invoice export.",
            metadata={"outcome": "success"},
            files=(FileRef("billing/export.py", "modified"),),
        )

        [item] = ask().memories

        assert item.line.text == (
            '- [episode] success: "When the gateway answers 503, retry the invoice '
            'export."; done: "The invoice export waits and retries on 503."; in '
            '"billing/export.py"; feedback: "Works, but log each retry of the export."; '
            'asked: "Make the invoice export robust" '
            f"({memory.created_at:%Y-%m-%d}, {memory.pk})"
        )

    def test_no_line_repeats_another(self, store, ask):
        first = store("Retry the invoice export when the gateway answers 503.")
        second = store(
            "Retry the invoice export, when the gateway answers 503!",
            scope=Scope("user", "u1"),
        )

        assert len({first.pk, second.pk} & {*ids(ask())}) == 1


class TestNoHarm:
    def test_with_nothing_stored_it_says_so_in_one_sentence(self, ask):
        assert ask().text == task_context.NOTHING

    def test_another_topic_brings_no_memory_line(self, store, ask):
        store("The avatar cropper needs square pictures.")

        assert ask(top_k=5).text == task_context.NOTHING  # no small store given whole

    def test_what_was_superseded_is_not_given(self, store, ask, alice):
        old = store("The invoice export must not retry when the gateway answers 503.")
        new = store("Retry the invoice export 3 times when the gateway answers 503.")
        supersede.supersede_memory(old, new, alice)

        assert ids(ask()) == [new.pk]

    def test_a_line_about_a_file_that_changed_since_is_marked(self, store, ask):
        memory = store(
            "Retry the invoice export when the gateway answers 503.",
            files=(FileRef("billing/export.py", "modified"),),
        )
        MemoryFile.objects.filter(memory=memory).update(suspect_since=memory.created_at)

        [item] = ask().memories

        assert 'unconfirmed since "billing/export.py" changed' in item.line.text

    def test_two_that_disagree_are_both_given(self, store, ask):
        one = store("Always retry the invoice export when the gateway answers 503.")
        other = store("Never retry the invoice export when the gateway answers 503.")

        assert {*ids(ask())} == {one.pk, other.pk}


class TestScope:
    def test_a_key_bound_to_a_user_reads_in_the_scope_of_the_user(
        self, project, ask, bob
    ):
        bound = Caller(name="u", user_id="u1", roles={project.pk: Role.WRITER})
        content = "Retry the invoice export when the gateway answers 503."
        own = Scope("user", "u1")
        draft = Draft(content=content, memory_type="learning", scope=own)
        memory = write.store(project, draft, bound).memory

        assert ids(ask(caller=bound, at_hand=AtHand(scopes=(own,)))) == [memory.pk]
        assert ids(ask(caller=bob)) == []
