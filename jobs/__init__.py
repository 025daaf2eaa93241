"""One table of jobs, with their outbox, leases, progress and dead letters.

Celery only notifies a worker. The app may import `common` only.
"""
