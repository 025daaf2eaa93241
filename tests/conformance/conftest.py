from __future__ import annotations

import pytest

from projects.models import Organization

# The organization of the cases and the programs; other keys of an org scope are refused.
ORGANIZATION = "01a00000-0000-7000-8000-000000000001"


@pytest.fixture
def organization(db):
    return Organization.objects.create(pk=ORGANIZATION, slug="acme")
