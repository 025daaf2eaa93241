"""Errors of projects and members."""

from __future__ import annotations

from common import errors


class ProjectExists(errors.StateConflict):
    """A project has this name, perhaps one deleted recently; choose another name."""

    code = "project_exists"


class GraceOver(errors.StateConflict):
    """The deleted project can no longer be restored; create a new one."""

    code = "grace_over"


class NoSuchAccount(errors.NotFound):
    """No active account has this username; an administrator creates accounts."""

    code = "no_such_account"
