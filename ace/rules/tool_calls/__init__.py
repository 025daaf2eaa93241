"""Read single tool calls: kind of tool, shell command, success or failure, test counts.

May import `ace.rules.word_tables` only.
"""
