"""Read one tool call: its kind, its shell command, its success and its test counts.

The package may import `ace.rules.word_tables` and nothing else of the project.
"""
