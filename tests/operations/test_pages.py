"""Pages of the manual that list what the code has."""

from __future__ import annotations

import pytest
from django.conf import settings

from jobs import runner
from playbook.history import operations
from playbook.lessons import gates
from playbook.models import PlaybookDelta
from projects.options import ProjectOptions


@pytest.fixture
def page():
    def read(name):
        return (settings.BASE_DIR / "docs" / name).read_text()

    return read


def names_of(model, prefix=""):
    """Every setting by its path, such as `dedup.threshold`."""
    for name, field in model.model_fields.items():
        if hasattr(field.annotation, "model_fields"):
            yield from names_of(field.annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


class TestSettings:
    def test_each_of_a_project_is_explained(self, page):
        text = page("settings.md")

        assert not [n for n in names_of(ProjectOptions) if f"| `{n}` |" not in text]

    def test_they_have_the_defaults_that_the_page_says(self, page):
        options = ProjectOptions()

        text = page("settings.md")

        assert f"| `policy` | `{options.policy}` |" in text
        assert f"| `content_min` | {options.content_min} |" in text
        assert f"| `dedup.threshold` | {options.dedup.threshold} |" in text
        assert f"| {options.budgets.playbook_tokens:,} |" in text
        assert f"| {options.budgets.render_tokens:,} |" in text


class TestAce:
    def test_the_numbers_of_the_gates_are_those_of_the_page(self, page):
        text = page("ace.md")

        assert f"{gates.MIN_WORDS} to {gates.MAX_WORDS} words" in text
        assert f"at most {gates.MAX_REMOVED:.0%}".replace("%", " %") in text
        assert not [name for name in gates.GATES if f"| `{name}` |" not in text]

    def test_each_operation_of_a_delta_can_be_carried_out(self):
        assert set(operations.OPERATIONS) == set(PlaybookDelta.DeltaOperation)


class TestOperations:
    def test_each_kind_of_job_is_explained(self, page):
        text = page("operations.md")

        assert not [kind for kind in runner.HANDLERS if f"| `{kind}` |" not in text]
