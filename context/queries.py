from __future__ import annotations

from typing import Any, Self

from django.db import models

from common.caller import Caller
from projects.models import Project


class DigestConfigQuerySet(models.QuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        return self.filter(project__in=Project.objects.visible_to(caller))
