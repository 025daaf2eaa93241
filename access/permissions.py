"""Decide who may send requests at all; the views check the role in a project."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from common.address import is_loopback
from common.api import throttling
from common.caller import Caller


class IsCaller(BasePermission):
    """Allow a usable key, or a signed-in person."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if isinstance(request.auth, Caller):
            return True
        throttling.charge_address(request)
        return False


class IsCallerOrLoopback(IsCaller):
    """Also allow requests from this machine, for the schema, its pages and the metrics."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return is_loopback(request) or super().has_permission(request, view)
