"""One table of work to do: outbox, lease, progress and dead letters.

Celery only wakes a worker. May import `common` only.
"""
