"""No foreign text ends its field, its line, its fence or its block, in any renderer.

Run 5,000 examples over every renderer with

    RENDERER_EXAMPLES=5000 python -m pytest tests/renderers -n 2
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from django.conf import settings
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.renderers.foreign_text import is_printable
from tests.renderers.registry import RENDERERS

EXAMPLES = int(os.environ.get("RENDERER_EXAMPLES", "20"))
# A module that renders imports from here.
QUOTES = re.compile(r"^from common\.text\.quote import", re.MULTILINE)
PACKAGES = ("access", "ace", "audit", "common", "console", "context", "inference")
PACKAGES += ("jobs", "mcp_server", "memories", "playbook", "projects", "search")
ALL = pytest.mark.parametrize("renderer", RENDERERS, ids=lambda each: each.name)


@ALL
@pytest.mark.timeout(1_800)
def test_every_entry_is_read_back_as_it_was_given(renderer):
    @hypothesis_settings(
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
        assert is_printable(text.translate(dict.fromkeys(map(ord, renderer.spaces))))

    check()


# Modules that use `common.text.quote` and render nothing by themselves.
NO_RENDERERS = {
    "common.text.quote": "it is what the renderers use",
    "ace.models": "it names a row in the admin",
    "memories.models": "it names a row in the admin",
    "playbook.models": "it names a row in the admin",
    "ace.lessons.question": "it writes a prompt, whose texts stand between markers",
    "playbook.exchange.import_plan": "it writes the reason of a proposal, one sentence",
    "playbook.management.commands.import": "it prints what `import_plan` says",
}


def test_every_module_that_quotes_is_in_the_registry():
    """A new renderer quotes; so that a test of it is not forgotten, it must be listed."""
    root = Path(settings.BASE_DIR)
    quoting = {
        ".".join(path.relative_to(root).with_suffix("").parts)
        for package in PACKAGES
        for path in (root / package).rglob("*.py")
        if QUOTES.search(path.read_text())
    }
    listed = {module for renderer in RENDERERS for module in renderer.modules}

    assert quoting - listed - set(NO_RENDERERS) == set()
    assert all((root / f"{name.replace('.', '/')}.py").exists() for name in listed)
