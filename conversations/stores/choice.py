"""The store of a project, and refusals where it lacks a capability."""

from __future__ import annotations

from typing import Any

from common import errors
from common.caller import Caller
from conversations.stores.contract import CAPABILITIES
from conversations.stores.full import FullStore
from conversations.stores.simple import SimpleStore
from projects.models import Project

STORES: dict[str, type[SimpleStore]] = {"full": FullStore, "simple": SimpleStore}


class NotSupported(errors.StateConflict):
    """The project's store cannot do this; an owner may set `conversations.store` to full."""

    code = "not_supported"


def store_of(project: Project, caller: Caller) -> Any:
    """Return the store that the project's settings name."""
    return STORES[project.options.conversations.store](project, caller)


def has_capability(project: Project, caller: Caller, capability: str) -> bool:
    return isinstance(store_of(project, caller), CAPABILITIES[capability])


def require(project: Project, caller: Caller, capability: str) -> None:
    """Refuse with 409 if the project's store lacks a capability."""
    if not has_capability(project, caller, capability):
        name = store_of(project, caller).name
        raise NotSupported(
            f"The store {name} of this project has no {capability}; an owner may set "
            "conversations.store to full."
        )
