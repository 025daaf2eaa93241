from __future__ import annotations

import pytest

from memories import scoped_store


@pytest.fixture
def remember(project, alice):
    memories = scoped_store.ScopedStore(project, alice)

    def write(content, **fields):
        return memories.write({"kind": "workspace"}, content, **fields)

    return write
