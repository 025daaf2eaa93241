from __future__ import annotations

from tests.isolation.conftest import (  # noqa: F401  fixtures
    alices,
    alices_rows,
    project,
)
