from __future__ import annotations

from common import errors


class ProjectExists(errors.StateConflict):
    """A project has this name, perhaps a deleted one in its grace; take another."""

    code = "project_exists"


class GraceOver(errors.StateConflict):
    """The project's grace is over and its rows are being deleted; make a new one."""

    code = "grace_over"


class NoSuchAccount(errors.NotFound):
    """No active account has this username; an administrator makes accounts."""

    code = "no_such_account"
