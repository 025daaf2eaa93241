"""The benchmarks behind the project's published figures; `manage.py benchmark` runs them.

May import every app below `embedded`; only `memory_project` and `embedded` may import it.
"""
