"""Find advice in the sentences of feedback.

The package may import `ace.rules.groundedness`, `ace.rules.task` and what `task` may import.
"""
