from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.loop.functions import describe_functions
from agents.protocols.decision import UnreadableAnswer
from agents.protocols.function_calls import (
    FunctionCallReader,
    FunctionNames,
)
from agents.tools.tool import ToolArgument
from inference.language.chat_pieces import ChatEnd, ChatText, FunctionCallPiece

NAMES = FunctionNames(["search", "my.tool"])


def read_all(*pieces):
    """Return what is said, and the decision."""
    reader, said = FunctionCallReader(NAMES), []
    for piece in pieces:
        said += reader.read(piece)
    said += reader.finish()
    texts = {"thought": "", "answer": ""}
    for each in said:
        texts[each.kind] += each.text
    return texts, reader.decide()


def read_text(text, size):
    """Return what is said and decided, or why nothing is, of a text in pieces."""
    cut = [ChatText(text[at : at + size]) for at in range(0, len(text), size)]
    try:
        return read_all(*cut, ChatEnd())
    except UnreadableAnswer as error:
        return str(error)


class TestCalls:
    def test_a_call_comes_in_pieces(self):
        texts, decision = read_all(
            ChatText("I will look."),
            FunctionCallPiece(0, "c1", "search"),
            FunctionCallPiece(0, arguments='{"q":'),
            FunctionCallPiece(0, arguments=' "x"}'),
            ChatEnd("tool_calls"),
        )

        assert texts == {"thought": "I will look.", "answer": ""}
        assert decision.thought == decision.call.thought == "I will look."
        assert decision.call.action == "search"
        assert decision.call.arguments == {"q": "x"}
        assert decision.call.call_id == "c1"

    def test_of_several_calls_the_first_is_taken(self):
        _, decision = read_all(
            FunctionCallPiece(0, "c1", "search", '{"q": 1}'),
            FunctionCallPiece(1, "c2", "other", '{"q": 2}'),
            FunctionCallPiece(0, arguments="]"),
        )

        assert (decision.call.action, decision.call.arguments) == ("search", {"q": 1})

    def test_calls_that_all_have_one_number_are_kept_apart(self):
        _, decision = read_all(
            FunctionCallPiece(0, "c1", "search", '{"q": 1}'),
            FunctionCallPiece(0, "c2", "other", '{"q": 2}'),
        )

        assert decision.call.arguments == {"q": 1}

    def test_a_name_that_each_piece_repeats_is_read_once(self):
        _, decision = read_all(
            FunctionCallPiece(0, "c1", "search", '{"q": '),
            FunctionCallPiece(0, "c1", "search", "1}"),
        )

        assert (decision.call.action, decision.call.arguments) == ("search", {"q": 1})

    def test_no_arguments_are_empty_arguments(self):
        assert read_all(FunctionCallPiece(0, "c", "search"))[1].call.arguments == {}

    @pytest.mark.parametrize("arguments", ["{", "[1]", "7", "{'a': 1}", '{"a": NaN}'])
    def test_arguments_that_are_no_object_are_unreadable(self, arguments):
        with pytest.raises(UnreadableAnswer, match="Invalid JSON in Args"):
            read_all(FunctionCallPiece(0, "c", "search", arguments))

    def test_a_call_without_a_name_is_unreadable(self):
        with pytest.raises(UnreadableAnswer, match="without a name"):
            read_all(FunctionCallPiece(0, "c", " "))

    def test_an_unknown_function_keeps_its_name(self):
        assert read_all(FunctionCallPiece(0, "c", "nope"))[1].call.action == "nope"


class TestTexts:
    def test_a_text_without_a_call_is_the_answer(self):
        texts, decision = read_all(
            ChatText("It is\n\n"), ChatText("  42. \n"), ChatEnd()
        )

        assert decision.answer == texts["answer"] == "It is\n\n  42."
        assert decision.call is None

    def test_a_text_without_a_label_is_held_back(self):
        reader = FunctionCallReader(NAMES)

        assert reader.read(ChatText("I will look. ")) == []
        [said] = reader.read(FunctionCallPiece(0, "c", "search"))
        assert (said.kind, said.text) == ("thought", "I will look.")

    def test_a_text_with_a_label_comes_as_it_is_said(self):
        reader = FunctionCallReader(NAMES)
        said = []
        for text in ("Thou", "ght: I kn", "ow\nFinal", " Answer: 4", "2 "):
            said.append(
                [(each.kind, each.text) for each in reader.read(ChatText(text))]
            )

        assert said == [
            [],
            [("thought", "I kn")],
            [("thought", "ow")],
            [("answer", "4")],
            [("answer", "2")],
        ]
        reader.finish()
        assert reader.decide().answer == "42"

    def test_a_line_that_only_looks_like_a_label_stays(self):
        texts, decision = read_all(
            ChatText("Thought: the Final Answer: is near\nFinal words"),
            FunctionCallPiece(0, "c", "search"),
        )

        assert decision.thought == "the Final Answer: is near\nFinal words"
        assert texts["answer"] == ""

    def test_a_call_after_an_answer_is_dropped(self):
        _, decision = read_all(
            ChatText("Final Answer: 42"), FunctionCallPiece(0, "c", "search")
        )

        assert (decision.answer, decision.call) == ("42", None)

    def test_the_thinking_of_a_reasoning_model_is_left_out(self):
        assert read_all(ChatText("<think>hm</think>42"))[1].answer == "42"

    def test_only_a_thought_is_unreadable(self):
        with pytest.raises(UnreadableAnswer, match="thought but no action"):
            read_all(ChatText("Thought: hm"))

    @pytest.mark.parametrize("text", ["", " \n", "Final Answer: "])
    def test_nothing_is_unreadable(self, text):
        with pytest.raises(UnreadableAnswer):
            read_all(ChatText(text), ChatEnd())

    @given(
        st.lists(
            st.sampled_from(
                [
                    "Thought:",
                    "Final Answer:",
                    "Final",
                    "Answer",
                    "\n",
                    " ",
                    "x",
                    "<think>",
                    "</think>",
                    "y z",
                ]
            ),
            max_size=12,
        ).map("".join),
        st.integers(1, 5),
    )
    def test_the_pieces_make_no_difference(self, text, size):
        assert read_text(text, size) == read_text(text, max(len(text), 1))

    @given(
        st.lists(
            st.builds(ChatText, st.text(max_size=6))
            | st.builds(
                FunctionCallPiece,
                st.integers(0, 2),
                st.sampled_from(["", "a", "b"]),
                st.text(max_size=4),
                st.sampled_from(["", "{", "}", '"', "1", "{}", "\ud800", "\x00"]),
            ),
            max_size=8,
        )
    )
    def test_it_raises_nothing_but_unreadable_answer(self, pieces):
        try:
            texts, decision = read_all(*pieces)
        except UnreadableAnswer:
            return
        assert (decision.call is None) != (decision.answer is None)
        assert texts["thought"] == decision.thought
        assert texts["answer"] == (decision.answer or "")
        json.dumps(decision.call.arguments if decision.call else {}, allow_nan=False)


class TestFunctions:
    def test_a_tool_is_described_as_a_function(self):
        class Search:
            name = "my.search tool"
            description = "Finds."
            arguments = (
                ToolArgument("q", "string", "words"),
                ToolArgument("n", "integer", "how many", required=False),
                ToolArgument("tags", "array", required=False),
                ToolArgument("any", "", "x" * 3_000 + "\u202e", required=False),
            )
            asks_first = False

        [described] = describe_functions([Search()])

        assert described["function"] == {
            "name": "my_search_tool",
            "description": "Finds.",
            "parameters": {
                "type": "object",
                "properties": {
                    "q": {"type": "string", "description": "words"},
                    "n": {"type": "integer", "description": "how many"},
                    "tags": {"type": "array", "items": {}, "description": ""},
                    "any": {"description": "x" * 1_023 + "…"},
                },
                "required": ["q"],
            },
        }

    def test_names_that_become_alike_stay_apart(self):
        names = FunctionNames(["a.b", "a_b", "x" * 80, "x" * 90, "…"])
        functions = [
            names.function_name(each) for each in ("a.b", "a_b", "x" * 80, "x" * 90)
        ]

        assert functions == ["a_b", "a_b_2", "x" * 64, "x" * 62 + "_2"]
        assert [names.tool_name(each) for each in functions[:2]] == ["a.b", "a_b"]

    def test_a_call_of_a_function_names_the_tool(self):
        assert (
            read_all(FunctionCallPiece(0, "c", "my_tool"))[1].call.action == "my.tool"
        )
