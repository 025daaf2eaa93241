"""Read and replace the digest configuration of a project or of one of its agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from context.digest import digest_options
from context.digest.digest_options import DigestOptions
from context.models import DigestConfig
from projects import lifecycle
from projects.models import Project

OF_PROMPT = {"agents": "all"}


def find(project: Project, agent_id: str, caller: Caller) -> DigestConfig | None:
    """Return the row of the agent; if `agent_id` is empty, the row of the project."""
    caller.require(Role.VIEWER, project.pk)
    rows = DigestConfig.objects.visible_to(caller).filter(project=project)
    row: DigestConfig | None = rows.filter(agent_id=agent_id).first()
    return row


def effective_options(
    project: Project,
    agent_id: str,
    caller: Caller,
    overrides: Mapping[str, Any] | None = None,
    *,
    is_of_prompt: bool = False,
) -> DigestOptions:
    """Merge the default settings, then those of the project, the agent and the request.

    Later settings override earlier settings. By default, a prompt of the service's own agent
    has what any agent of the project stored.
    """
    rows = DigestConfig.objects.visible_to(caller).filter(project=project)
    levels = rows.filter(agent_id__in={"", agent_id}).order_by("agent_id")
    layers = levels.values_list("config", flat=True)
    return digest_options.merge_layers(
        OF_PROMPT if is_of_prompt else {}, *layers, overrides or {}
    )


@write
def put(
    project: Project,
    agent_id: str,
    config: Mapping[str, Any],
    caller: Caller,
    *,
    version: int | None = None,
) -> DigestConfig:
    """Replace the settings of a project or an agent. Raises Invalid, StaleVersion."""
    caller.require_administrator(
        Role.CURATOR, project.pk, action="change the settings of digests"
    )
    lifecycle.refuse_unstorable(config, "config")
    digest_options.merge_layers(config)
    rows = DigestConfig.objects.select_for_update(no_key=True)
    row = rows.filter(project=project, agent_id=agent_id).first()
    if version is not None and version != (row.version if row else 0):
        raise errors.StaleVersion(current_version=row.version if row else 0)
    before = row.config if row else None
    if row is None:
        row = DigestConfig(project=project, agent_id=agent_id, version=0)
    row.config = dict(config)
    row.version += 1
    row.updated_by = caller.name[:200]
    row.save()
    trail.record(
        caller,
        "digest_config.put",
        project_id=project.pk,
        object_type="digest_config",
        object_id=row.pk,
        before=before,
        after=row.config,
        agent=agent_id,
    )
    put_row: DigestConfig = row
    return put_row
