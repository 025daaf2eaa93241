"""Give agents context: the digest, the context of a task and the graph of a file.

This package may import `ace`, `playbook`, `memories` and the apps below them: the files of
earlier tasks come from the runs.
"""
