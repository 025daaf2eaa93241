"""Find the files that a task touched, in paths, patches, shell commands and error reports.

The package may import `ace.rules.tool_calls` and `ace.rules.task`.
"""
