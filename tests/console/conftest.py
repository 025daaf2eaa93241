"""The people and rows of the admin's tests: Alice owns, Bob curates, Charlie sees nothing."""

from __future__ import annotations

from tests.admin.conftest import (  # noqa: F401 -- fixtures
    _plain_static_files,
    a_memory,
    an_entry,
    browser_of,
    charlies,
    curator,
    owner,
    superuser,
    world,
)
from tests.playbook.conftest import learned, write  # noqa: F401 -- fixtures
