from __future__ import annotations

from common.erasure.handlers import ErasureHandler, register
from projects.models import Organization, Project

OWN = "an owner's description of the project itself"


@register
class ProjectErasure(ErasureHandler):
    no_text = {
        Organization: dict.fromkeys(("slug", "name"), OWN),
        Project: dict.fromkeys(
            ("name", "description", "repository_url", "current_branch", "settings"), OWN
        ),
    }
