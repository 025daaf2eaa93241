"""What must be true whatever agents, tools and people write."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace.lessons import from_rules, told_errors
from ace.task import file_links, file_paths, memory_type, task_outcome, task_tags
from ace.task import task as tasks
from memories.store import memory_types

MIB = 1 << 20

# Pieces that rules react to, mixed with anything else.
PIECES = st.sampled_from(
    ["Error: ", "Traceback (most recent call last):\n", '  File "a.py", line 3, in f\n',
     "ValueError: bad 7\n", "expected: 5, got: 4", "HTTP 404 ", "exit code 2", "1 failed",
     "3 passed in 0.1s", "You should always use `a_b` instead of c. ", "--- a/x.py\n",
     "+++ b/x.py\n", "*** Add File: a.py\n", "cat a.py", "rm -rf b.py && ", "> c.txt",
     "<<EOF\n", "'", '"', "`", "\\", "$(", "|", "\n", "not found", "timed out after 31s",
     "src/a.py:3:1: E501 x", "reward 1", "def f(", "never ", "missing argument 'x'",
     "It would be nice if you had asked `x` before. ", "I prefer a_b over c. ",
     "We never use d.py here. ", "Would you mind not splitting e? ", "; please use it",
     "\x00", "\ud800", "é漢", "{", "}", "[", "]", "Next time, run b.py first."]
)  # fmt: skip
TEXT = st.lists(PIECES | st.text(max_size=12), max_size=14).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
ARGUMENTS = (
    st.dictionaries(
        st.sampled_from(["command", "file_path", "path", "old_string", "patch", "n"]),
        TEXT | st.integers() | st.booleans(),
        max_size=3,
    )
    | VALUES
)
CALLS = st.fixed_dictionaries(
    {
        "tool_name": st.sampled_from(["Bash", "Edit", "Read", "do_it", "apply_patch"]),
        "arguments": ARGUMENTS,
        "result": TEXT | VALUES,
    }
)
REQUESTS = st.fixed_dictionaries(
    {
        "goal": TEXT,
        "result": TEXT,
        "feedback": TEXT,
        "tool_usage": st.lists(CALLS, max_size=5),
        "outcome": st.sampled_from([None, "success", "failure", "partial", "unknown"]),
        "feedback_source": st.sampled_from(["agent", "human", "test", "environment"]),
    }
)


def reflect(request):
    task = tasks.parse(request)
    outcome = task_outcome.resolve(task)
    return task, from_rules.teach(task, outcome), told_errors.find(task, outcome)


class TestInvariants:
    @given(REQUESTS)
    def test_every_quote_is_cut_from_its_field(self, request):
        task, lessons, errors = reflect(request)
        quotes = [quote for lesson in lessons for quote in lesson.quotes]
        quotes += [quote for error in errors for quote in error.evidence]

        for quote in quotes:
            text = task.text(quote.field)
            assert 0 <= quote.start < quote.end <= len(text)
            assert text[quote.start : quote.end] == quote.quote

    @given(REQUESTS)
    def test_every_lesson_has_words_and_quotes(self, request):
        _, lessons, _ = reflect(request)

        assert all(lesson.content.strip() and lesson.quotes for lesson in lessons)

    @given(REQUESTS)
    def test_links_are_normalised_and_unique(self, request):
        found = [link.path for link in file_links.find(tasks.parse(request))]

        assert len(found) == len(set(found))
        for path in found:
            assert file_paths.normalise(path, explicit=True) == path

    @given(REQUESTS)
    def test_two_reflections_are_equal(self, request):
        assert reflect(request)[1:] == reflect(request)[1:]

    @given(REQUESTS, st.lists(TEXT, max_size=5))
    def test_types_and_tags_never_fail(self, request, vocabulary):
        task = tasks.parse(request)
        links = file_links.find(task)

        assert memory_type.memory_type(task, "success")
        assert memory_types.classify(task.feedback)
        assert len(task_tags.find(task, links, vocabulary)) <= task_tags.MAX_TAGS


HOSTILE = {
    "one letter": "a" * MIB,
    "spaces": " " * MIB,
    "new lines": "\n" * MIB,
    "slashes": "a/" * (MIB // 2),
    "dots": "a." * (MIB // 2),
    "quotes": '"' * MIB,
    "parentheses": "(" * MIB,
    "error names": "Error" * (MIB // 5),
    "expectations": "expected " * (MIB // 9),
    "digits": "1" * MIB,
    "counts": "1 passed " * (MIB // 9),
    "tracebacks": "Traceback (most recent call last):\n" * (MIB // 35),
    "frames": '  File "a.py", line 1, in f\nValueError: x\n' * (MIB // 43),
    "locations": "x.py:1:1: error: bad\n" * (MIB // 22),
    "diffs": "--- a\n+++ b\n" * (MIB // 12),
    "patches": "*** Add File: a\n" * (MIB // 16),
    "wishes": "you should always use x instead of y. " * (MIB // 38),
    "substitutions": "$(" * (MIB // 2),
    "here documents": "cat <<EOF\n" * (MIB // 10),
    "brackets": "[" * MIB,
    "wishes without end": "it would be better if you had " * (MIB // 28),
    "habits": "in this we always use in this we " * (MIB // 33),
    "facts": "the a is not the " * (MIB // 17),
    "praise": "splitting it and splitting it saved " * (MIB // 36),
    "clauses": "but please, " * (MIB // 12),
    "greetings": "hey, " * (MIB // 5),
    "smileys": ":) " * (MIB // 3),
    "slips": "pls dont u " * (MIB // 11),
    "short sentences": "I want it. " * (MIB // 11),
    "long sentences": f"{'the a is x ' * 53}. " * (MIB // 586),
    "dotted names": "a.b.C" * (MIB // 5),
    "surrogates": "\ud800" * MIB,
}


class TestHostileText:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_a_megabyte_of_it_takes_well_under_a_second(self, name):
        text = HOSTILE[name]
        failing = {"tool_name": "Bash", "arguments": text, "result": f"Error: {text}"}
        worked = {"tool_name": "Bash", "arguments": "ls x", "result": "ok"}
        request = {
            "goal": text,
            "result": text,
            "feedback": text,
            "feedback_source": "human",
            "outcome": "success",
            "tool_usage": [failing, worked],
        }
        start = time.process_time()

        task, *_ = reflect(request)
        memory_type.memory_type(task, "success")
        task_tags.find(task, file_links.find(task), ["a b", "word"])

        # Five fields of a megabyte; the door takes one in all.
        assert time.process_time() - start < 1.5
