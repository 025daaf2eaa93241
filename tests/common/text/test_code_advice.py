"""What a text says to do and not to do in code."""

from __future__ import annotations

import pytest

from common.text import code_advice

REPORT = "When running `report.sh`, use `--group-by` instead of `--by`."


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (REPORT, "?report.sh +--group-by ---by"),
        ("Instead of `pip`, use `uv`.", "-pip +uv"),
        ("Use `uv`, not `pip` or `pipx`.", "+uv -pip -pipx"),
        ("Replace `a.b` with `c.d`.", "-a.b +c.d"),
        ("Never push without `make lint`.", "+make lint"),
        ("Do not forget `--all`.", "+--all"),
        ("`--by` is refused; pass `--group-by`.", "---by +--group-by"),
        ("Run `make lint` before you push with `git push`.", "+make lint ?git push"),
        ("If `make` fails, run `make fix`.", "?make +make fix"),
        ("To stop the server, run `make stop`.", "+make stop"),
    ],
)
def test_a_code_is_recommended_refused_or_a_case(text, codes):
    marks = {"recommended": "+", "refused": "-", "case": "?"}

    found = [
        marks[code.role] + " ".join(code.words) for code in code_advice.find_codes(text)
    ]

    assert " ".join(found) == codes


@pytest.mark.parametrize(
    ("text", "calls", "is_followed"),
    [
        (REPORT, ["sort --group-by x", "report.sh"], False),
        (REPORT, ["report.sh --group-by=x", "sort --by x"], True),
        ("In `report.sh`, `--by` fails.", ["report.sh region"], True),
        ("Run `make export` again.", ["make exports"], False),
        ("Run `make -j4 lint`.", ["make lint"], False),
        ("Use `uv` instead of `pip`.", ["uv sync"], True),
        ("Use `uv` instead of `pip`.", ["uv sync", "pip list"], False),
        ("Prefer words.\nRun `make lint`.", ["make lint"], True),
        ("Nothing in code.", ["make"], False),
    ],
)
def test_a_text_is_followed_if_calls_did_what_it_recommends(text, calls, is_followed):
    assert code_advice.is_followed(text, calls) == is_followed


@pytest.mark.parametrize(
    ("text", "calls", "is_followed"),
    [
        ("Pass the id as a number.", ["get_order id 7"], True),
        ("Pass `--all` to it.", ["get_order id 7"], False),
    ],
)
def test_the_tool_of_a_text_is_enough_where_it_names_no_form(text, calls, is_followed):
    assert code_advice.is_followed(text, calls, {"get_order"}) == is_followed
