"""Store what a finished task leaves for the next ones, beside its memory.

These are the files that it used, the commands that it ran, the paths that it looked for and
what it saw of the repository's instructions. This package may import `ace.fixes`,
`ace.models`, `ace.rules` and the apps below `ace`.
"""
