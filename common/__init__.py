"""Code that knows no app: callers, ids, errors, locks, pagination, database access.

May import Django and libraries, nothing else of this project.
"""
