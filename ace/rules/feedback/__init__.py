"""Find advice in the sentences of feedback.

May import `ace.rules.task` and what it may import, and `ace.rules.groundedness`.
"""
