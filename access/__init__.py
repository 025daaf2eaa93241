"""API keys, authentication and idempotency; the views of projects, keys, jobs and audit.

May import `projects` and everything below it.
"""
