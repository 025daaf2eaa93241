"""The page of schedules: what beat starts, and when each task last succeeded.

May import `jobs` and the console's own top-level modules.
"""
