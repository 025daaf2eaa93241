"""The demo shows the tiers without a model, also a second time."""

from __future__ import annotations

import re

import pytest
from django.core.management import call_command

from agents.models import AgentRun
from projects.models import Project

pytestmark = pytest.mark.django_db


@pytest.fixture
def demo(settings, capsys):
    settings.LANGUAGE_PROVIDER = "none"

    def run():
        call_command("demo_agent")
        return capsys.readouterr().out

    return run


def given(text):
    """Return the numbers of facts, episodes and invocations of each question."""
    numbers = re.findall(r"given [a-z ]+: (\d+)", text)
    return [tuple(map(int, numbers[n : n + 3])) for n in range(0, len(numbers), 3)]


def test_each_tier_is_given_to_ana_and_nothing_to_ben(demo):
    first, again, other, ben = given(demo())

    assert first == (0, 0, 0)
    assert again[2] == 1
    assert other[0] >= 1
    assert other[1] >= 1
    assert other[2] == 0
    assert ben == (0, 0, 0)


def test_the_runs_are_stored_and_end_well(demo):
    demo()

    statuses = set(AgentRun.objects.values_list("status", flat=True))
    assert statuses == {"done"}
    assert AgentRun.objects.count() == 4


def test_it_can_be_run_again_in_the_same_project(demo):
    demo()
    text = demo()

    assert Project.objects.filter(name="Agent demo").count() == 1
    assert given(text)[3] == (0, 0, 1)
