from __future__ import annotations

import json
from io import StringIO
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command

from benchmarks.datasets import finer_questions
from benchmarks.report import curve_chart
from memories.models import Memory
from playbook.models import PlaybookEntry
from projects.models import Project

TAGS = ["RentExpense", "LoanFaceAmount", "GoodwillImpairment", "SharesIssued"]
SENTENCES = {
    "RentExpense": "Money paid to the owner of our {place} was $ {n} million a year .",
    "LoanFaceAmount": "A bank in {place} lent us $ {n} million for ten years .",
    "GoodwillImpairment": "Less worth than paid for the {place} business : $ {n} .",
}
PLACES = ["north", "south", "east", "west"]


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "finer"
    folder.mkdir()
    rows = [
        {"entity": str(n), "sentence": text.format(n=n, place=place), "tag": tag}
        for n, place in enumerate(PLACES, start=20)
        for tag, text in SENTENCES.items()
    ]
    lines = "\n".join(json.dumps(row) for row in rows)
    (folder / "questions.jsonl").write_text(lines)
    (folder / "tags.txt").write_text("\n".join(TAGS))
    return tmp_path


@pytest.fixture
def benchmark(data, tmp_path):
    def run(*arguments):
        out = StringIO()
        numbers = tmp_path / "numbers.json"
        call_command(
            "benchmark",
            "learning",
            "--in-place",
            f"--data={data}",
            f"--json={numbers}",
            *arguments,
            stdout=out,
        )
        return json.loads(numbers.read_text()), out.getvalue()

    return run


@pytest.mark.django_db(transaction=True)
class TestCommand:
    def test_the_first_point_is_without_a_playbook(self, benchmark):
        numbers, _ = benchmark("--learn=6", "--test=6")

        first, *_, last = numbers["curve"]
        assert (first["tasks"], first["entries"], first["tokens"]) == (0, 0, 0)
        assert last["tasks"] == 6

    def test_what_it_learned_helps_with_unseen_questions(self, benchmark):
        numbers, printed = benchmark("--learn=6", "--test=6")

        first, last = numbers["curve"]
        assert last["accuracy"] > first["accuracy"]
        assert last["entries"] == numbers["deltas"]["add applied"]
        assert "rules alone: gain +" in printed

    def test_all_examples_and_the_context_answer_too(self, benchmark):
        numbers, printed = benchmark("--learn=6", "--test=6")

        first, last = numbers["curve"]
        assert first["vote_accuracy"] == first["accuracy"] == first["context_accuracy"]
        assert last["vote_accuracy"] > first["vote_accuracy"]
        assert last["context_accuracy"] > first["context_accuracy"]
        assert "of the vote" in printed

    def test_it_counts_what_append_only_would_keep(self, benchmark, data):
        numbers, _ = benchmark("--learn=6", "--test=6")

        assert numbers["append_only_tokens"] > numbers["curve"][-1]["tokens"]

    def test_without_feedback_it_learns_nothing(self, benchmark):
        numbers, _ = benchmark("--learn=6", "--test=6", "--withhold")

        first, last = numbers["curve"]
        assert last["accuracy"] == first["accuracy"]
        assert last["entries"] == 0
        assert not numbers["deltas"]
        assert not numbers["votes"]

    def test_poisoned_entries_are_counted_by_their_fate(self, benchmark):
        numbers, _ = benchmark("--learn=8", "--test=4", "--poison=4")

        assert sum(numbers["poisoned"].values()) == 2

    def test_two_runs_give_the_same_numbers(self, benchmark):
        one, _ = benchmark("--learn=6", "--test=6", "--poison=3")
        other, _ = benchmark("--learn=6", "--test=6", "--poison=3")

        assert one == other

    def test_it_draws_the_curve(self, benchmark, tmp_path):
        benchmark("--learn=4", "--test=4", f"--plot={tmp_path / 'curve.svg'}")

        picture = ElementTree.parse(tmp_path / "curve.svg").getroot()
        assert picture.tag.endswith("svg")

    def test_its_project_is_removed(self, benchmark):
        benchmark("--learn=2", "--test=2")

        assert not Project.objects.exists()
        assert not Memory.objects.exists()
        assert not PlaybookEntry.objects.exists()


class TestData:
    def test_the_last_questions_are_tested_and_the_first_learned(self, data):
        found = finer_questions.load_questions(data)

        assert (len(found.to_learn), len(found.to_test)) == (8, 4)
        assert found.tags == TAGS

    def test_the_folder_itself_may_be_named(self, data):
        assert finer_questions.load_questions(data / "finer").tags == TAGS

    def test_a_tag_that_is_not_listed_is_added(self, data):
        (data / "finer" / "tags.txt").write_text("SharesIssued")

        assert set(finer_questions.load_questions(data).tags) == set(TAGS)

    def test_too_few_questions_are_refused(self, data):
        with pytest.raises(CommandError, match="too few"):
            finer_questions.load_questions(data, learn=10, test=10)

    def test_a_folder_without_questions_is_refused(self, tmp_path):
        with pytest.raises(CommandError, match=r"questions\.jsonl"):
            finer_questions.load_questions(tmp_path)

    @pytest.mark.parametrize(
        ("tag", "words"),
        [
            ("DebtInstrumentFaceAmount", "debt instrument face amount"),
            ("HTTPStatusCode1", "http status code 1"),
            ("snake_case-name", "snake case name"),
        ],
    )
    def test_a_tags_name_is_split_into_words(self, tag, words):
        assert finer_questions.tag_words(tag) == words


def test_a_curve_of_one_point_is_drawn_too():
    point = {"tasks": 0, "accuracy": 0.0, "entries": 0, "tokens": 0}

    assert ElementTree.fromstring(curve_chart.draw_curve([point])) is not None
