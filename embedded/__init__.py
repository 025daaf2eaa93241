"""The service on one machine: local PostgreSQL and Redis, and the `up` command.

manage.py runs `servers` and `up` before the settings are read. These two modules and the
modules below them therefore import no Django. `first_start`, `demo` and `backup` may import
every app but `memory_project`.
"""
