"""Errors that a job's handler raises to say how the job goes on."""

from __future__ import annotations

# `Job.error` stores the class names of errors.


class Permanent(Exception):
    """Another attempt cannot help; the job becomes a dead letter at once."""


class Later(Exception):
    """The work is not possible now; the job is retried with a growing delay."""


class Busy(Exception):
    """Another job is at this work; the job looks again soon."""


class TurnExpired(Exception):
    """The job has run for long; it continues after the other jobs that wait."""


class JobCancelled(Exception):
    """The job was cancelled, or another worker has taken its lease."""
