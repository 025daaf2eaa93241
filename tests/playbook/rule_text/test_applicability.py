from __future__ import annotations

import pytest

from playbook.rule_text import applicability
from playbook.rule_text.applicability import read_surroundings


def match(value, task="", tools=(), paths=()):
    return applicability.find_match([value], read_surroundings(task, tools, paths))


class TestMatch:
    @pytest.mark.parametrize(
        ("value", "task"),
        [
            ("tool:gh", "open the pull request with gh"),
            ("tool:make", "find out why `make lint` fails"),
            ("tool:get_order", "call get_order for the customer"),
            ("path:docs/**", "reword docs/guide/start.md"),
            ("path:*.sql", "speed up queries/top.sql"),
            ("path:src/auth.py", "mend ./src/auth.py"),
        ],
    )
    def test_a_rule_matches_what_the_task_names(self, value, task):
        assert match(value, task)

    @pytest.mark.parametrize(
        ("value", "task"),
        [
            ("tool:make", "make the export faster"),
            ("tool:gh", "show the pull request"),
            ("path:docs/**", "reword src/docs_index.py"),
            ("path:*.sql", "speed up the queries"),
            ("language:go", "add a flag to the Go client"),
            ("always", "use gh in docs/a.md"),
        ],
    )
    def test_it_does_not_match_what_only_resembles_it(self, value, task):
        assert not match(value, task)

    def test_what_is_at_hand_counts_too(self):
        assert match("tool:make", tools=["make"])


class TestLanguage:
    def language(self, value, task="", paths=()):
        return applicability.find_language(
            [value], read_surroundings(task, paths=paths)
        )

    def test_a_task_names_its_language_by_word_or_by_file(self):
        assert self.language("language:go", "add a flag to the Go client") == "go"
        assert self.language("language:python", "mend tools/run.py") == "python"
        assert self.language("language:go", paths=["cmd/main.go"]) == "go"

    @pytest.mark.parametrize(
        ("value", "task"),
        [
            ("language:go", "go through the list again"),
            ("language:c", "C is the third column"),
        ],
    )
    def test_an_everyday_word_names_none(self, value, task):
        assert self.language(value, task) == ""


class TestValues:
    @pytest.mark.parametrize(
        "value",
        ["", "gh", "tool:", "tool:a b", "path:a\nb", "path:*a*b*c*d*e", "language:Go!"],
    )
    def test_other_forms_are_refused(self, value):
        assert not applicability.is_valid(value)

    def test_always_makes_the_others_needless(self):
        assert applicability.normalise(["tool:gh", "always"]) == ("always",)

    def test_a_merge_with_a_rule_about_a_topic_is_about_a_topic(self):
        assert applicability.union([["tool:gh"], []]) == []
        assert applicability.union([["tool:gh"], ["tool:git"]]) == [
            "tool:gh",
            "tool:git",
        ]


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\U000e0041", "\u3164", "\x7f", "\x85", "\u202e"]
)
def test_a_value_with_a_hidden_character_is_refused(hidden):
    assert not applicability.is_valid(f"path:docs/{hidden}a.md")
    assert applicability.is_valid("path:docs/a.md")
