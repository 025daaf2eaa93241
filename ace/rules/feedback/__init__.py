"""Find advice in the sentences of feedback.

May import `ace.rules.task`, `groundedness` and `word_tables`.
"""
