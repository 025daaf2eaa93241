from __future__ import annotations

import re

import pytest

from tests.growth import adversaries, measure, patterns


def worst_growth(pattern, way="finditer"):
    """Return the growth of the pattern's cost, and the text on which it is."""
    compiled = re.compile(pattern) if isinstance(pattern, str) else pattern
    method = getattr(compiled, way)
    work = method if way in patterns.AT_START else lambda text: list(method(text))
    worst = (0.0, "")
    for adversary in adversaries.of_pattern(compiled):
        worst = max(worst, (measure.growth(work, adversary.text), str(adversary)))
        if worst[0] > measure.MOST:
            break
    return worst


class TestPatternsOfTheProduct:
    def test_none_costs_more_than_linear_time(self):
        found = patterns.product_patterns()
        growing = [
            f"{pattern}: {growth:.0f}-fold on {text}"
            for pattern in found
            for growth, text in [
                worst_growth(re.compile(pattern.text, pattern.flags), pattern.way)
            ]
            if growth > measure.MOST
        ]

        assert len(found) > 500
        assert growing == []


class TestWorstGrowth:
    @pytest.mark.parametrize(
        "pattern",
        [
            r"\s+$",
            r"^\s*- ",
            r"\s*\n\s*",
            r"a.*b",
            r"\w+@",
            r"(?:a|b)+c",
            r"[\w-]*x[\w-]*;",
            r"<!--.*?-->",
            r"(?:(?:ab)+c)+d",
            r"(?:key|token).*=",
        ],
    )
    def test_it_finds_quadratic_patterns(self, pattern):
        growth, _ = worst_growth(re.compile(pattern, re.MULTILINE | re.DOTALL))

        assert growth > measure.MOST

    def test_it_finds_exponential_patterns(self):
        assert worst_growth(r"(?:\w+\s?)+;")[0] > measure.MOST

    @pytest.mark.parametrize(
        "pattern",
        [
            r"\s+",
            r"(?<!\s)\s++;",
            r"a.{0,500}b",
            r"`[^`\n]*`",
            r"(?<![\w-])[\w-]++@",
            r"\b(?:always|never)\b",
        ],
    )
    def test_it_accepts_linear_patterns(self, pattern):
        assert worst_growth(pattern)[0] <= measure.MOST

    def test_a_pattern_is_tried_as_the_product_uses_it(self):
        assert worst_growth(r".*x")[0] > measure.MOST
        assert worst_growth(r".*x", "match")[0] <= measure.MOST
        assert worst_growth(r"a*a*b", "fullmatch")[0] > measure.MOST
