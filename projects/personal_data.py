from __future__ import annotations

from common.personal_data import Part, register
from projects.models import Organization, Project

OWN = "what an owner says of the project itself"


@register
class ProjectData(Part):
    no_text = {
        Organization: dict.fromkeys(("slug", "name"), OWN),
        Project: dict.fromkeys(
            ("name", "description", "repository_url", "current_branch", "settings"), OWN
        ),
    }
