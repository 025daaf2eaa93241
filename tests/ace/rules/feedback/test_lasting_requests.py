"""Which sentences of a prompt say by themselves that they last."""

from __future__ import annotations

import pytest

from ace.rules.feedback import lasting_requests


@pytest.mark.parametrize(
    ("prompt", "content"),
    [
        (
            "From now on, never write reports to the desktop; put them in out/ instead.",
            "Never write reports to the desktop; put them in out/ instead.",
        ),
        ("ok, from now on please use pnpm instead of npm", "Use pnpm instead of npm."),
        (
            "Mend the parser. In future, add a changelog line with each change.",
            "Add a changelog line with each change.",
        ),
        (
            "Always run `make lint` before you commit in this project.",
            "Always run `make lint` before you commit in this project.",
        ),
        ("In this repo, always use tabs.", "In this repo, always use tabs."),
        ("Never again push to main!", "Never again push to main."),
        ("Please never push to main again.", "Never push to main again."),
        (
            'From now on, say "nobody" instead of "no one", don\'t say "none".',
            'Say "nobody" instead of "no one", don\'t say "none".',
        ),
        (
            "Please remember that sales numbers are in thousands of euros.",
            "Remember that sales numbers are in thousands of euros.",
        ),
        (
            "Whenever you change a model, write a migration.",
            "Whenever you change a model, write a migration.",
        ),
    ],
)
def test_it_is_found_as_a_command(prompt, content):
    assert [each.content for each in lasting_requests.find_in(prompt)] == [content]


@pytest.mark.parametrize(
    "prompt",
    [
        "can you add a tests so we don't break this in the future again?",
        "keep reading the old name but always write the new name now",
        "Never mind, we always do it by hand in this project",
        "Fix the parser so that dates never fail again",
        "I got this error:\n> From now on, always use --force in this project",
        'The log says "We stopped. From now on, use the mirror."',
        'Print "from now on, use the mirror" at the start.',
        "The log says \u201cWe stopped. From now on, use the mirror.\u201d",
        "Print 'from now on, use the mirror' before the first page.",
        "Print `from now on, use the mirror` before the first page.",
        "Fix the date bug. Remember to add a test for `parse_date`.",
        "The login page must never show `Traceback` again.",
        "Review this plan.\n\n" + "From now on, use the mirror for each build.\n" * 80,
        "ERROR: from now on, use the mirror",
        "```\nRemember to call close\n```",
        "I don't remember which error it was, please check",
        "To suppress this warning in future sessions, run the setup",
        "Add a comment if the hook may be needed in the future",
        "From now on, do it like that.",
    ],
)
def test_a_sentence_about_its_task_is_none(prompt):
    assert lasting_requests.find_in(prompt) == []
