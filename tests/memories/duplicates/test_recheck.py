"""What was hidden by earlier rules and would not be today is released, and nothing else."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from audit.models import AuditEvent
from common.caller import SYSTEM
from common.text import plain_text
from inference.embedding.fake import outage
from jobs.models import Job
from memories.duplicates import decide
from memories.duplicates import recheck as recheck_module
from memories.lifecycle import update
from memories.models import Memory, MemoryChange, PossibleDuplicate
from memories.store import originals, write
from memories.store.drafts import Draft

WORDS = " ".join(f"word{n}" for n in range(60))


@pytest.fixture
def hidden(project, alice):
    """Hide the second of two memories behind the first, as an earlier rule did."""

    def hide(first, second):
        pair = []
        for fields in (first, second):
            draft = Draft(memory_type="learning", **({"content": WORDS} | fields))
            pair.append(write.store(project, draft, alice).memory)
        if not pair[1].is_duplicate:
            PossibleDuplicate.objects.all().delete()
            originals.mark_duplicate(pair[1], pair[0], alice, reason="cosine 0.97")
        return pair

    return hide


@pytest.fixture
def recheck(capsys):
    def run(*options):
        call_command("recheck_duplicates", *options)
        return capsys.readouterr().out

    return run


def is_hidden(memory):
    return Memory.objects.get(pk=memory.pk).is_duplicate


WRONG = [
    ({"outcome": "success"}, {"outcome": "failure", "content": f"{WORDS}!!"}),
    ({"content": f"{WORDS} 5"}, {"content": f"{WORDS} 7"}),
    (
        {"content": f"{WORDS * 5} in the end it works"},
        {"content": f"{WORDS * 5} but the second half is another report of Monday"},
    ),
]


@pytest.mark.parametrize(("first", "second"), WRONG)
def test_a_dry_run_lists_and_changes_nothing(hidden, recheck, first, second):
    one, other = hidden(first, second)

    told = recheck()

    assert f"{other.pk} is hidden behind {one.pk}: " in told
    assert "Marked wrongly: 1." in told
    assert is_hidden(other)


@pytest.mark.parametrize(("first", "second"), WRONG)
def test_apply_releases_with_history_and_audit(hidden, recheck, first, second):
    _, other = hidden(first, second)

    assert "Released: 1 of 1." in recheck("--apply")

    assert not is_hidden(other)
    change = MemoryChange.objects.filter(memory_id=other.pk).first()
    assert (change.action, change.reason[:9]) == ("unmark", "recheck: ")
    assert AuditEvent.objects.filter(verb="possible_duplicate.kept_both").exists()
    assert "Marked wrongly: 0." in recheck()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {}),
        ({}, {"content": f"{WORDS}!!"}),
        ({"content": f"{WORDS}\n\n{WORDS}"}, {"content": f"{WORDS} {WORDS}."}),
    ],
)
def test_copies_of_one_text_stay(hidden, recheck, first, second):
    _, other = hidden(first, second)

    recheck("--apply")

    assert is_hidden(other)


LEDGER = "The nightly run of the ledger ended."


@pytest.mark.parametrize(
    "other",
    [
        {"title": "Invoices of March went out late again"},
        {"steps": ["Restart the queue", "Ask the bank for the missing statement"]},
        {"feedback": "The operator had to enter every amount by hand"},
    ],
)
def test_texts_that_only_the_earlier_hash_made_one_are_released(hidden, recheck, other):
    one, two = hidden({"content": LEDGER}, {"content": LEDGER, **other})
    # Before the upgrade of the texts, the rows have the hash of the content alone.
    rows = Memory.objects.filter(pk__in=[one.pk, two.pk])
    rows.update(similarity_hash=plain_text.similarity_hash(LEDGER))

    told = recheck("--apply")

    assert "cosine 0." in told
    assert not is_hidden(two)


@pytest.mark.parametrize("state", ["waiting", "running", "failed"])
def test_it_is_refused_until_the_texts_are_upgraded(hidden, recheck, project, state):
    _, other = hidden(*WRONG[0])
    Job.objects.create(kind="upgrade_texts", project_id=project.pk, state=state)

    with pytest.raises(CommandError, match=f"not done in {project.name}"):
        recheck("--apply")
    assert is_hidden(other)


@pytest.mark.parametrize("changed", [0, 1])
def test_what_changed_since_it_was_compared_stays(hidden, project, alice, changed):
    pair = hidden(*WRONG[1])
    (mark,) = recheck_module.find_wrong_marks(project)
    update.update_memory(pair[changed], {"tags": ["new"]}, alice, None)

    assert not recheck_module.release(mark, SYSTEM)
    assert is_hidden(pair[1])


def test_it_says_that_the_model_does_not_answer(hidden, recheck):
    hidden(*WRONG[1])

    with outage(), pytest.raises(CommandError, match="cannot be compared"):
        recheck()


def test_what_a_person_merged_stays(project, alice, recheck):
    pair = []
    for end in ("5", "7"):
        draft = Draft(memory_type="learning", content=f"{WORDS} {end}")
        pair.append(write.store(project, draft, alice).memory)
    decide.decide(PossibleDuplicate.objects.get(), "merged", alice)

    recheck("--apply")

    assert is_hidden(pair[1])


def test_one_project_can_be_chosen(hidden, recheck, project, other_project):
    hidden(*WRONG[0])

    assert "Marked wrongly: 0." in recheck("--project", other_project.name)
    assert "Marked wrongly: 1." in recheck("--project", project.name)
