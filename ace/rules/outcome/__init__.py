"""Decide how a task ended, from its explicit outcome, test counts, tool status or wording.

The package may import `ace.rules.tool_calls` and `ace.rules.task`.
"""
