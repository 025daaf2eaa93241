from __future__ import annotations


class Permanent(Exception):
    """Trying this job again cannot help; it becomes a dead letter at once."""


class Later(Exception):
    """The work cannot be done now; it is tried again with a growing delay."""


class TurnExpired(Exception):
    """This job has worked for long; it goes on when others have had their turn."""


class JobCancelled(Exception):
    """The job was cancelled, or its lease was taken by another worker."""
