from __future__ import annotations

from itertools import product

import pytest

from inference.embedding.fake import outage
from jobs.models import Job
from playbook.entries import matches, neighbours
from playbook.lessons import person_edits
from playbook.models import EntryVector

RULE = "Always run the database migrations before the test suite starts."
WORDS = [
    "".join(parts)
    for parts in product(
        "bdfgk", ("ala", "emo", "iru"), "lmnprst", ("ok", "ub", "ix", "an")
    )
]
BEGINNING = " ".join(WORDS[:200])


@pytest.fixture
def match(project):
    def look(text, **fields):
        vectors = neighbours.embed_texts([text])
        vector = vectors[0] if vectors else None
        return matches.compare_with_entries(project.pk, text, vector, **fields)

    return look


class TestMatch:
    @pytest.mark.parametrize(
        ("old", "new", "verdict"),
        [
            (RULE, RULE.upper(), "same"),
            (RULE, f"Please {RULE.replace('run the', 'run')}", "same"),
            (RULE, RULE.replace("starts", "begins"), "near"),
            (RULE, RULE.replace("Always", "Never"), "near"),
            (
                RULE,
                "Always run the database migrations before you start the whole suite.",
                "near",
            ),
            (RULE, "Keep `uv.lock` beside the project's other files.", "new"),
            (RULE, f"{RULE} Use `manage.py migrate` for it.", "near"),
            (
                "When calling `edit`, pass the whole `path` of the file to change.",
                "When calling `edit`, pass the whole `name` of the file to change.",
                "near",
            ),
            (
                "Set the timeout of the client to 30 seconds and retry two times.",
                "Set the timeout of the client to 60 seconds and retry two times.",
                "near",
            ),
        ],
    )
    def test_it_tells_how_two_rules_go_together(self, write, match, old, new, verdict):
        write(old)

        assert match(new).verdict == verdict

    @pytest.mark.parametrize(
        ("text", "verdict"),
        [
            (f"{BEGINNING}\n{' '.join(WORDS[280:360])}", "near"),
            (f"{' '.join(WORDS[200:280])}\n{BEGINNING}", "near"),
        ],
    )
    def test_long_texts_are_one_rule_by_all_of_their_words(self, write, text, verdict):
        entry = write(f"{BEGINNING}\n{' '.join(WORDS[200:280])}")
        near = neighbours.Neighbour(entry, 0.98)

        assert matches.compare(text, near).verdict == verdict

    def test_it_does_not_look_at_retired_entries(self, write, match, alice, project):
        entry = write(RULE)
        wanted = person_edits.removal(entry, alice, reason="", version=None)
        person_edits.submit_edit(project, wanted, alice)

        assert match(RULE).verdict == "new"

    def test_it_finds_exact_copies_without_a_model(self, write, match):
        write(RULE)
        with outage():
            assert match(RULE.lower()).verdict == "same"
            assert match("Something else.").verdict == "new"


class TestEmbedding:
    def test_a_text_that_the_model_refuses_does_not_hold_up_the_others(
        self, write, run_jobs, refuse
    ):
        with outage():
            odd = write("Never call `odd_one` before the tests ran.")
            other = write(RULE)
        refuse("odd_one")

        run_jobs()

        job = Job.objects.get(kind="embed_entries")
        assert (job.state, job.result["refused"]) == ("done", [f"{odd.pk}: too odd"])
        assert [vector.entry for vector in EntryVector.objects.all()] == [other]


class TestRelated:
    def test_it_names_the_nearest_first(self, write, project):
        near = write(RULE)
        write("Keep the lock file beside the project's other files.")

        found = neighbours.find_related(
            project, "run the database migrations before the suite"
        )

        assert [neighbour.entry.pk for neighbour in found] == [near.pk]
        assert 0.7 <= found[0].similarity < 1

    def test_it_finds_nothing_without_a_model(self, write, project):
        write(RULE)
        with outage():
            assert neighbours.find_related(project, RULE) == []
