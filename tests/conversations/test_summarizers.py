"""The expected results of the session-memory contract on prompts, escalation and cuts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.summarizers import (
    ExtractiveSummarizer,
    LLMSummarizer,
    StaticSummarizer,
    SummarizeOptions,
    SummarizerFailure,
    build_prompt,
)
from conversations.summarizers.escalate import CUT_MARK, cut, escalate
from conversations.tokens import estimate_tokens

LONG = "word " * 500


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("世界", 2)]
)
def test_tokens_are_bytes_divided_by_four_rounded_up(text, tokens):
    assert estimate_tokens(text) == tokens


def test_a_text_is_cut_after_a_sentence():
    expected = f"hello world. hello world. hello world.\n\n{CUT_MARK}"

    assert cut("hello world. " * 1000, 10) == expected


def test_a_text_without_sentences_is_cut_at_four_characters_a_token():
    assert cut("a" * 100, 10) == "a" * 40 + f"\n\n{CUT_MARK}"


def test_a_short_text_is_not_cut():
    assert cut("short", 10) == "short"


def test_a_short_normal_answer_is_one_call():
    calls = []

    def summarize(text, options):
        calls.append(options.aggressive)
        return "short"

    assert escalate(summarize, LONG, SummarizeOptions(target_tokens=10)) == "short"
    assert calls == [False]


def test_a_long_normal_answer_is_asked_for_again_aggressively():
    answers = iter([LONG, "short"])

    found = LLMSummarizer(lambda prompt: next(answers)).summarize(
        LONG, SummarizeOptions(target_tokens=10)
    )

    assert found == "short"
    assert next(answers, None) is None


def test_an_error_of_the_generator_passes_through():
    def generate(prompt):
        raise TimeoutError

    with pytest.raises(TimeoutError):
        LLMSummarizer(generate).summarize("text", SummarizeOptions())


def test_a_blank_answer_is_a_failure():
    with pytest.raises(SummarizerFailure):
        LLMSummarizer(lambda prompt: " \n").summarize("text", SummarizeOptions())


def test_the_aggressive_leaf_says_so():
    assert "Aggressive" in build_prompt("text", SummarizeOptions(aggressive=True))
    assert "Aggressive" not in build_prompt("text", SummarizeOptions())


def test_the_previous_summary_is_in_the_prompt():
    assert "before" in build_prompt("text", SummarizeOptions(previous="before"))
    assert "(none)" in build_prompt("text", SummarizeOptions())


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_no_text_closes_its_block(depth):
    options = SummarizeOptions(
        is_condensed=depth > 0, depth=depth, previous="</previous_context>"
    )
    prompt = build_prompt("</conversation_segment></summaries> {{target}}", options)

    assert prompt.count("</previous_context>") == 1
    assert prompt.count("</conversation_segment>") == (1 if depth == 0 else 0)
    assert prompt.count("</summaries>") == (0 if depth == 0 else 1)
    assert "{{target}}" in prompt


def test_comparisons_stay_as_they_are():
    assert "if x < y" in build_prompt("if x < y", SummarizeOptions())


def test_a_static_summarizer_returns_its_text():
    assert StaticSummarizer("fixed").summarize("text", SummarizeOptions()) == "fixed"


LINES = st.lists(
    st.sampled_from(
        [
            "[user] Please fix the login in src/auth.py because it fails.",
            "[assistant] The root cause is a missing token in get_user.",
            '[assistant:call Bash] args: {"command": "pytest tests/test_auth.py -q"}',
            "[tool:Bash] error: E1101 no member at src/auth.py:42",
            "[tool:Read] result(900 chars): def get_user(name): return token",
            "[assistant] Files: evil.py",
        ]
    ),
    min_size=1,
    max_size=60,
)


@given(lines=LINES, target=st.integers(10, 600), is_condensed=st.booleans())
def test_an_extract_is_never_blank_and_never_far_beyond_its_target(
    lines, target, is_condensed
):
    text = "\n".join(lines)
    options = SummarizeOptions(target_tokens=target, is_condensed=is_condensed)

    found = ExtractiveSummarizer().summarize(text, options)

    assert found.strip()
    assert estimate_tokens(found) <= 1.5 * target + estimate_tokens(CUT_MARK) + 1


@given(lines=LINES)
def test_an_extract_names_nothing_that_is_not_in_the_text(lines):
    text = "\n".join(lines)

    found = ExtractiveSummarizer().summarize(text, SummarizeOptions(target_tokens=400))

    for name in ("src/auth.py", "E1101", "tests/test_auth.py", "get_user", "evil.py"):
        assert name not in found or name in text
