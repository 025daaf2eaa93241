"""No foreign text ends its field, its line, its fence or its block, in any renderer.

Run 5,000 examples over every renderer with

    RENDERER_EXAMPLES=5000 python -m pytest tests/renderers -n 2
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.renderers.foreign_text import is_printable
from tests.renderers.registry import RENDERERS

EXAMPLES = int(os.environ.get("RENDERER_EXAMPLES", "200"))
ALL = pytest.mark.parametrize("renderer", RENDERERS, ids=lambda each: each.name)


@ALL
@pytest.mark.timeout(1_800)
def test_every_entry_is_read_back_as_it_was_given(renderer):
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def check(data):
        rows = data.draw(renderer.rows)
        text = renderer.render(rows)
        assert renderer.parse(text) == renderer.expect(rows)
        assert is_printable(text)

    check()
