"""Give agents context: the digest, the context of a task, the graph of a file.

May import `playbook`, `memories` and everything below them; never `ace`.
"""
