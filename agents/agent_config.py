"""The settings `agent-mem` of a project: its settings section `agents`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from common import errors
from common.caller import Caller
from projects import lifecycle
from projects.models import Project

_PREFIX = "settings.agents."


def replace_config(
    project: Project, names: Mapping[str, Any], caller: Caller
) -> Project:
    """Store the agent's settings of an owner; a setting that is None returns to its default.

    Settings that `names` lacks stay as they are. The change is audited like every change of
    a project's settings. Raises Invalid with the seed's hyphenated names.
    """
    changes = dict(names)
    if changes.get("templates") is not None:
        stored = dict.fromkeys(project.options.agents.templates)
        changes["templates"] = {**stored, **changes["templates"]}
    try:
        return lifecycle.update(project, {}, caller, settings={"agents": changes})
    except errors.Invalid as refusal:
        refusal.errors = {_seed_path(path): why for path, why in refusal.errors.items()}
        raise


def _seed_path(path: str) -> str:
    """Return the path of a setting as the request names it."""
    name, dot, rest = path.removeprefix(_PREFIX).partition(".")
    return f"{name.replace('_', '-')}{dot}{rest}"
