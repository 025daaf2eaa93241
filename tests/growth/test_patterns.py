from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests.growth import measure
from tests.growth.patterns import BASE
from tests.growth.sweep import worst_growth


@pytest.mark.slow
class TestPatternsOfTheProduct:
    def test_none_costs_more_than_linear_time(self):
        command = [sys.executable, "-m", "tests.growth.sweep"]

        run = subprocess.run(command, cwd=BASE, check=True, stdout=subprocess.PIPE)

        result = json.loads(run.stdout)
        assert result["count"] > 500
        assert result["growing"] == []


class TestWorstGrowth:
    @pytest.fixture(autouse=True)
    def _gives_up_early(self, monkeypatch):
        monkeypatch.setattr(measure, "LENGTHS", measure.LENGTHS[:1])
        monkeypatch.setattr(measure, "LIMIT", 0.5)

    @pytest.mark.parametrize(
        "pattern",
        [
            r"\s+$",
            r"a.*b",
            r"\w+@",
            r"[\w-]*x[\w-]*;",
            r"(?:(?:ab)+c)+d",
            r"(?:key|token).*=",
        ],
    )
    def test_it_finds_quadratic_patterns(self, pattern):
        growth, _ = worst_growth(re.compile(pattern, re.MULTILINE | re.DOTALL))

        assert growth > measure.MOST

    def test_it_finds_exponential_patterns(self):
        assert worst_growth(re.compile(r"(?:\w+\s?)+;"))[0] > measure.MOST

    @pytest.mark.parametrize(
        "pattern",
        [
            r"\s+",
            r"(?<!\s)\s++;",
            r"a.{0,100}b",
            r"`[^`\n]*`",
            r"(?<![\w-])[\w-]++@",
            r"\b(?:always|never)\b",
        ],
    )
    def test_it_accepts_linear_patterns(self, pattern):
        assert worst_growth(re.compile(pattern))[0] <= measure.MOST

    def test_a_pattern_is_tried_as_the_product_uses_it(self):
        pattern = re.compile(r".*x")

        assert worst_growth(pattern)[0] > measure.MOST
        assert worst_growth(pattern, "match")[0] <= measure.MOST
