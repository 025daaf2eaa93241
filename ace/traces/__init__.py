"""Store what a finished task leaves for the next ones, beside its memory.

These are the files that it used and the commands that it ran. This package may import
`ace.models`, `ace.repairs`, `ace.task` and the apps below `ace`.
"""
