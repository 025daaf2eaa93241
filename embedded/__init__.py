"""The service on one machine: local PostgreSQL and Redis, and the `up` command.

manage.py runs `servers` and `up` before the settings are read, so these and the
modules below them import no Django. `first_start`, `demo` and `backup` may import
every app but `memory_project`.
"""
