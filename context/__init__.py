"""Give agents context: the digest, the context of a task and the graph of a file.

This package may import `playbook`, `memories` and the apps below them, but not `ace`.
"""
