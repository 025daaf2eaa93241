"""Views of projects, members, keys, the audit record and jobs.

May import everything in `access`.
"""
