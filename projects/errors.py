from __future__ import annotations

from common import errors


class ProjectExists(errors.Conflict):
    """A project has this name, perhaps a deleted one in its grace; take another."""

    code = "project_exists"


class NoSuchAccount(errors.NotFound):
    """No active account has this username; an administrator makes accounts."""

    code = "no_such_account"
