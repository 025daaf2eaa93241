"""Find the files that a task touched: paths, patches, shell commands, error reports.

May import `ace.rules.tool_calls` and `ace.rules.task`.
"""
