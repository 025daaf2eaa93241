"""API keys, roles, throttles, idempotency; the doors of projects, keys, jobs, audit.

May import `projects` and everything below it.
"""
