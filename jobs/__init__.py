"""One table of jobs: outbox, lease, progress and dead letters.

Celery only notifies a worker. May import `common` only.
"""
