"""Each row of the table of the design (page 08), then what no model text may do."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents.protocols.decision import UnreadableAnswer
from agents.protocols.text import TextReader, parse_text
from inference.language.chat_pieces import ChatText, FunctionCallPiece


def call_of(text):
    call = parse_text(text).call
    return call.action, call.arguments


def read_in_pieces(text, size):
    """Return what is said, and the decision or the error."""
    reader, said = TextReader(), []
    for at in range(0, len(text), size):
        said += reader.read(ChatText(text[at : at + size]))
    said += reader.finish()
    try:
        decision = reader.decide()
    except UnreadableAnswer as error:
        decision = str(error)
    texts = {"thought": "", "answer": ""}
    for piece in said:
        texts[piece.kind] += piece.text
    return texts, decision


class TestTable:
    def test_an_action_with_arguments(self):
        text = 'Thought: I need data\nAction: search\nArgs: {"q": "x"}'

        decision = parse_text(text)

        assert decision.thought == "I need data"
        assert call_of(text) == ("search", {"q": "x"})
        assert decision.call.thought == "I need data"
        assert decision.answer is None

    def test_a_final_answer(self):
        decision = parse_text("Thought: done\nFinal Answer: 42")

        assert (decision.thought, decision.answer) == ("done", "42")
        assert decision.call is None

    @pytest.mark.parametrize("name", ['"search"', "'search'", '""search""', "`search`"])
    def test_the_quotes_of_a_name_are_stripped(self, name):
        assert call_of(f"Thought: a\nAction: {name}\nArgs: {{}}")[0] == "search"

    @pytest.mark.parametrize("fence", ["```", "```text", "```json"])
    def test_an_answer_in_a_code_fence_with_json_over_lines(self, fence):
        text = (
            f'{fence}\nThought: a\nAction: search\nArgs: {{\n  "q": "x",\n'
            '  "deep": [1]\n}\n```'
        )

        assert call_of(text) == ("search", {"q": "x", "deep": [1]})

    def test_an_action_without_arguments(self):
        assert call_of("Thought: a\nAction: search") == ("search", {})

    @pytest.mark.parametrize(
        "arguments",
        [
            "{invalid json}",
            '{"q": "x"',
            '{"q": "x',
            "none",
            '["q"]',
            '{"q": NaN}',
            "{'a': 1}",
            '{"q": 1e999}',
            '{"a":' * 100 + "1" + "}" * 100,
        ],
    )
    def test_arguments_that_are_no_json(self, arguments):
        with pytest.raises(UnreadableAnswer, match=r"^Invalid JSON in Args"):
            parse_text(f"Thought: a\nAction: search\nArgs: {arguments}")

    def test_only_a_thought(self):
        with pytest.raises(UnreadableAnswer, match="thought but no action or final"):
            parse_text("Thought: I wonder")

    @pytest.mark.parametrize("text", ["", " ", "\n\t \n", "Hello there", "```\n```"])
    def test_nothing_that_can_be_read(self, text):
        with pytest.raises(UnreadableAnswer, match="Could not parse"):
            parse_text(text)

    def test_thoughts_and_answers_over_lines_are_joined_with_single_spaces(self):
        decision = parse_text(
            "Thought: one\n  two\n\n three\nFinal Answer:\n four \n\n\nfive"
        )

        assert decision.thought == "one two three"
        assert decision.answer == "four five"

    def test_a_final_answer_of_json_keeps_its_lines(self):
        decision = parse_text(
            'Thought: a\nFinal Answer: {\n    "x": 1,\n    "y": [2]\n}'
        )

        assert decision.answer == '{\n"x": 1,\n"y": [2]\n}'
        assert json.loads(decision.answer) == {"x": 1, "y": [2]}

    def test_a_final_answer_without_a_thought(self):
        decision = parse_text("Final Answer: 42")

        assert (decision.thought, decision.answer) == ("", "42")

    def test_nested_arguments_are_kept(self):
        text = 'Thought: a\nAction: f\nArgs: {"a": {"b": [{"c": "}"}]}, "d": "\\"{"}'

        assert call_of(text)[1] == {"a": {"b": [{"c": "}"}]}, "d": '"{'}

    @pytest.mark.parametrize("name", ["", '""', "  ", "``"])
    def test_an_action_without_a_name(self, name):
        with pytest.raises(UnreadableAnswer, match="action without a name"):
            parse_text(f"Thought: a\nAction: {name}\nArgs: {{}}")

    def test_an_observation_that_the_model_wrote_is_dropped(self):
        decision = parse_text(
            'Thought: a\nAction: search\nArgs: {"q": "x"}\nObservation: it is 7\n'
            "Thought: so\nFinal Answer: 7"
        )

        assert decision.answer is None
        assert (decision.call.action, decision.thought) == ("search", "a")

    def test_an_action_before_a_final_answer_is_taken(self):
        text = 'Thought: a\nAction: search\nArgs: {"q": "x"}\nFinal Answer: 42'

        assert call_of(text) == ("search", {"q": "x"})


class TestMoreOfModels:
    def test_an_action_without_arguments_before_an_observation(self):
        text = "Action: search\nObservation: 7\nThought: b\nFinal Answer: 7"

        assert call_of(text) == ("search", {})

    def test_an_observation_without_an_action_is_not_trusted(self):
        with pytest.raises(UnreadableAnswer):
            parse_text("Thought: a\nObservation: 7\nThought: b\nFinal Answer: 7")

    def test_the_first_of_two_actions_is_taken(self):
        text = "Action: one\nArgs: {}\nAction: two\nArgs: {}"

        assert call_of(text) == ("one", {})

    def test_a_question_after_the_answer_is_dropped(self):
        decision = parse_text("Final Answer: 42\nThought: next\nAction: search")

        assert decision.answer == "42"

    def test_a_line_of_the_answer_that_begins_with_action_is_kept(self):
        decision = parse_text(
            "Final Answer: Cause: disk full.\nAction: free the disk.\n**Action:** none"
        )

        assert decision.call is None
        assert decision.answer == (
            "Cause: disk full. Action: free the disk. **Action:** none"
        )

    def test_labels_in_bold_are_read(self):
        text = '**Thought:** a\n**Action**: search\n**Args:** {"q": 1}'

        assert parse_text(text).thought == "a"
        assert call_of(text) == ("search", {"q": 1})

    def test_bold_type_of_an_answer_is_kept(self):
        assert parse_text("Final Answer: **42**").answer == "**42**"

    def test_other_names_of_labels_are_read(self):
        assert call_of('Action: f\nAction Input: {"a": 1}') == ("f", {"a": 1})
        assert parse_text("Final answer: 1").answer == "1"

    def test_arguments_in_a_fence_are_read(self):
        assert call_of('Action: f\nArgs:\n```json\n{"a": 1}\n```') == ("f", {"a": 1})

    def test_arguments_without_their_label_are_read(self):
        assert call_of('Action: f\n{"a": 1}') == ("f", {"a": 1})

    def test_line_breaks_within_the_strings_of_arguments_are_read(self):
        text = 'Action: f\nArgs: {"a": "one\n  Observation: two"}\nThought: b'

        assert call_of(text) == ("f", {"a": "one\n  Observation: two"})

    def test_arguments_may_come_before_the_action_that_is_missing(self):
        with pytest.raises(UnreadableAnswer, match="thought but no action"):
            parse_text("Thought: a\nArgs: {}")

    def test_the_thinking_of_a_reasoning_model_is_left_out(self):
        text = "<think>Final Answer: 1</think>\nThought: a\nFinal Answer: 2"

        assert parse_text(text).answer == "2"

    def test_an_empty_final_answer(self):
        with pytest.raises(UnreadableAnswer, match="empty final answer"):
            parse_text("Thought: a\nFinal Answer:  \n")

    def test_a_code_block_of_an_answer_in_a_fence_is_kept(self):
        text = "```\nFinal Answer: run\n```sh\nls\n```\nnow\n```\nmore"

        assert parse_text(text).answer == "run ```sh ls ``` now"

    def test_text_that_cannot_be_stored_is_replaced(self):
        text = 'Action: f\nArgs: {"a": "\\u0000\\ud800", "b\\u0000": 1}'

        assert call_of(text) == ("f", {"a": "\ufffd\ufffd", "b\ufffd": 1})
        assert parse_text("Final Answer: a\x00b").answer == "a\ufffdb"

    def test_calls_of_functions_are_left_out(self):
        reader = TextReader()

        assert reader.read(FunctionCallPiece(0, "c", "search")) == []


class TestPieces:
    def test_the_first_words_come_before_the_end(self):
        reader = TextReader()

        assert [p.text for p in reader.read(ChatText("Thought: I need "))] == ["I need"]
        assert [p.text for p in reader.read(ChatText("data\nAction"))] == [" data"]
        assert reader.read(ChatText(": f\nArgs: {}")) == []
        assert reader.is_decided

    def test_what_follows_the_arguments_is_neither_said_nor_read(self):
        reader = TextReader()
        reader.read(ChatText("Action: f\nArgs: {}"))

        assert reader.read(ChatText("\nFinal Answer: 42")) == []
        assert reader.finish() == []
        assert reader.decide().call.action == "f"


LABELS = st.sampled_from(
    [
        "Thought:",
        "Action:",
        "Args:",
        "Final Answer:",
        "Observation:",
        "Action Input:",
        "**Thought:**",
        "Final",
        "Act",
        "```",
        "```json",
        "<think>",
        "</think>",
        "\n",
        "{",
        "}",
        '"',
        "\\",
        '{"a": 1}',
        "{}",
        " ",
        "  ",
        "x",
        "**",
        "`",
        "\r\n",
        "\x00",
    ]
)
TEXTS = st.lists(LABELS | st.text(max_size=5), max_size=25).map("".join)


class TestAnyText:
    @given(TEXTS | st.text())
    @example('Action: f\nArgs: {"a": ' + "1" * 5000 + "}")
    @example("Action: f\nArgs: " + "[" * 100_000)
    @example("Thought: " + "\ud800")
    def test_it_raises_nothing_but_unreadable_answer(self, text):
        try:
            decision = parse_text(text)
        except UnreadableAnswer as error:
            assert len(str(error)) < 500
        else:
            assert (decision.call is None) != (decision.answer is None)
            json.dumps(
                decision.call.arguments if decision.call else {}, allow_nan=False
            )

    @given(TEXTS, st.integers(1, 6))
    @example("Thought: a\nAction: b\nArgs: {}", 1)
    @example("Thought: x\n**Final Answer:** y\n", 3)
    @example("Final Answer: {\n  a\n b", 1)
    def test_the_pieces_make_no_difference(self, text, size):
        whole = read_in_pieces(text, max(len(text), 1))

        assert read_in_pieces(text, size) == whole

    @given(TEXTS, st.integers(1, 6))
    def test_what_is_said_is_what_is_decided(self, text, size):
        texts, decision = read_in_pieces(text, size)

        if not isinstance(decision, str):
            assert texts["thought"] == decision.thought
            assert texts["answer"] == (decision.answer or "")

    @given(TEXTS)
    def test_what_follows_a_call_changes_nothing(self, more):
        start = 'Thought: a\nAction: f\nArgs: {"q": 1}'

        assert parse_text(start + "\n" + more) == parse_text(start)
