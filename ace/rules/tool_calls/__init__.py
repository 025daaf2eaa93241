"""Read one tool call: kind of tool, shell command, success or failure, test counts.

May import `ace.rules.word_tables` and nothing else of the project.
"""
