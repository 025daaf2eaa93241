from __future__ import annotations

import pytest
from django.urls import reverse

pytestmark = pytest.mark.django_db


def test_each_label_is_the_title_of_its_page(superuser, project):
    start = superuser.get(reverse("admin:index"), {"project": project.pk})
    groups = start.context["sidebar_navigation"]
    items = [item for group in groups for item in group["items"]]

    wrong = {
        item["title"]: title
        for item in items
        if (title := superuser.get(item["link"]).context["title"]) != item["title"]
    }

    assert len(items) > 20
    assert not wrong
