"""Decide how a task ended: explicit outcome, test counts, tool status, wording.

May import `ace.rules.tool_calls` and `ace.rules.task`.
"""
