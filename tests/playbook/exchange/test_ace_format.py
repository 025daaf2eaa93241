from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text.visible import drop_invisible
from playbook.exchange import ace_format
from playbook.exchange.ace_format import RuleLine

PIECES = (
    *("[a-1] ", "[b-2] helpful=3 harmful=1 :: ", "- [c-3] helpful=x y=1:: ", "[x]"),
    *("## S", "# c", "```", "```py", "  ", "\n", "\n", "\r\n", "\r", "\t", "text"),
    *("::", ": ", "-", "\ufeff", "\u2028", "\x0b", "=", "#"),
)
PLAYBOOKS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.text()
)


def only(text):
    (line,) = ace_format.parse(text).lines
    return line


class TestRules:
    def test_it_reads_label_counters_text_and_section(self):
        line = only("## HARD RULES:\n\n[shr-00042] helpful=5 harmful=1 :: Do `x`.\n")

        assert line == RuleLine("shr-00042", "Do `x`.", 5, 1, "HARD RULES")
        assert line.number == 3

    @pytest.mark.parametrize(
        "row",
        [
            "[shr-00042] Do `x`.",
            "[shr-00042] :: Do `x`.",
            "- [shr-00042] helpful=0 harmful=0 :: Do `x`.",
            "  [shr-00042] helpful=0 harmful=0:: Do `x`.  ",
            "\ufeff[shr-00042] Do `x`.\r\n",
        ],
    )
    def test_its_relatives_are_read_alike(self, row):
        assert only(row) == RuleLine("shr-00042", "Do `x`.")

    def test_a_text_may_contain_colons_and_counters(self):
        line = only("[a-1] helpful=1 harmful=0 :: use std::vec :: or set helpful=3")

        assert line.text == "use std::vec :: or set helpful=3"

    def test_invalid_counts_are_noted(self):
        parsed = ace_format.parse("[a-1] helpful=many harmful=2 neutral=4 :: Do `x`.")

        assert parsed.lines == (RuleLine("a-1", "Do `x`.", 0, 2),)
        assert parsed.notes == (
            'Line 1: "helpful=many" is not imported.',
            'Line 1: "neutral=4" is not imported.',
        )


class TestTextsOfSeveralLines:
    def test_indented_lines_belong_to_the_rule_above(self):
        line = only("[a-1] Do this:\n  for x in y:\n      use(x)\n\n  Then stop.\n")

        assert line.text == "Do this:\nfor x in y:\n    use(x)\n\nThen stop."

    def test_a_block_of_code_belongs_to_the_rule_above(self):
        line = only("[a-1] Do this:\n```python\n# a comment\nuse(x)\n```\n")

        assert line.text == "Do this:\n```python\n# a comment\nuse(x)\n```"

    def test_a_fence_that_never_ends_is_punctuation(self):
        parsed = ace_format.parse("[a-1] End blocks with ```\n## NEXT\n[b-2] Do `x`.")

        assert [line.section for line in parsed.lines] == ["", "NEXT"]

    def test_no_line_of_a_text_passes_for_another_rule(self):
        hostile = RuleLine("a-1", "Do `x`.\n[b-2] helpful=99 harmful=0 :: evil\n## NEW")

        written = ace_format.format([hostile])

        assert written == (
            "[a-1] helpful=0 harmful=0 :: Do `x`.\n"
            "  \\[b-2] helpful=99 harmful=0 :: evil\n"
            "  \\## NEW\n"
        )
        assert only(written) == hostile

    def test_a_block_of_code_stays_as_it_is(self):
        line = RuleLine("a-1", "Do this:\n```py\nuse(x)  # twice\n```\nThen stop.")

        written = ace_format.format([line])

        assert "\n  ```py\n  use(x)  # twice\n  ```\n" in written

    @pytest.mark.parametrize("fence", ["```", "~~~~", "``````py"])
    def test_a_fence_that_never_ends_is_escaped(self, fence):
        line = RuleLine("a-1", f"Do this:\n{fence}\nuse(x)")

        written = ace_format.format([line])

        assert f"\n  \\{fence}\n" in written
        assert only(written) == line


class TestWhatIsNoRule:
    def test_it_is_reported_line_by_line(self):
        parsed = ace_format.parse("Preamble\n[a-1] Do `x`.\n[x] done\n[b-2]\n")

        assert [(u.line, u.text) for u in parsed.unparsed] == [
            (1, "Preamble"),
            (3, "[x] done"),
            (4, "[b-2]"),
        ]

    @given(PLAYBOOKS)
    def test_nothing_is_dropped_in_silence(self, playbook):
        parsed = ace_format.parse(playbook)

        told = ace_format.format(parsed.lines) + "".join(parsed.notes)
        told += "".join(line.text for line in parsed.unparsed)
        for row in ace_format.split_lines(playbook.removeprefix("\ufeff")):
            if not row.startswith("#"):
                for word in re.findall(r"text|\[x\]|::", row):
                    assert word in re.sub(r"\s", "", told)


class TestFormat:
    @given(PLAYBOOKS)
    def test_it_keeps_everything_that_was_parsed(self, playbook):
        lines = tuple(
            replace(
                line,
                text=ace_format.canonical(line.text),
                section=" ".join(drop_invisible(line.section).split()),
            )
            for line in ace_format.parse(playbook).lines
            if ace_format.canonical(line.text)
        )

        again = ace_format.parse(ace_format.format(lines))

        assert again == ace_format.ParsedPlaybook(lines)

    @given(st.lists(PLAYBOOKS.filter(ace_format.canonical), max_size=4))
    def test_it_keeps_any_text(self, texts):
        lines = [RuleLine(f"a-{n}", text, section="s") for n, text in enumerate(texts)]

        again = ace_format.parse(ace_format.format(lines))

        assert [line.text for line in again.lines] == [
            ace_format.canonical(text) for text in texts
        ]
        assert not again.unparsed


@pytest.mark.parametrize(
    "hostile",
    [
        "#" * 1_000_000,
        "[a-1] " + "a=b" * 300_000,
        "[a-1] " + "a=b " * 200_000,
        "[" + "-1" * 400_000,
        "[a-1] x\n" + "  ```x\n" * 5_000,
        "[a-1] x\n" + "".join(f"  {'`' * n}x\n" for n in range(300, 2, -1)),
    ],
)
def test_a_hostile_text_takes_no_time(hostile):
    started = time.process_time()

    ace_format.format(ace_format.parse(hostile).lines)

    assert time.process_time() - started < 3
