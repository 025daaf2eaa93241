from __future__ import annotations

import pytest

from playbook.exchange import sections

DEFAULT = [
    "dependencies",
    "architecture",
    "gotchas",
    "patterns",
    "best_practices",
    "general",
]


@pytest.mark.parametrize(
    ("section", "category"),
    [
        ("STRATEGIES AND HARD RULES", "best_practices"),
        ("COMMON MISTAKES AND CORRECT STRATEGIES", "gotchas"),
        ("TROUBLESHOOTING AND PITFALLS", "gotchas"),
        ("USEFUL CODE SNIPPETS AND TEMPLATES", "patterns"),
        ("VERIFICATION CHECKLIST", "best_practices"),
        ("Best practices", "best_practices"),
        ("best_practices", "best_practices"),
        ("OTHERS", "general"),
        ("", "general"),
    ],
)
def test_a_section_gets_the_category_of_its_words(section, category):
    assert sections.category(section, DEFAULT) == category


def test_a_category_of_the_project_is_found_by_its_name():
    assert sections.category("Payment rules", ["payments", "other"]) == "payments"


def test_a_section_without_a_match_uses_the_given_category():
    assert sections.category("OTHERS", DEFAULT, otherwise="patterns") == "patterns"
    assert sections.category("OTHERS", ["payments"]) == "payments"
