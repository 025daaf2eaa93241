"""The page of schedules: the tasks that beat starts, and when each last succeeded.

This package may import `jobs` and the console's own top-level modules.
"""
