"""Name the failed calls of a task, so that a later task knows them, and find their cures.

The class of a failure decides how it is named and what counts as its cure. The package may
import `ace.rules.task` and what that module may import.
"""
