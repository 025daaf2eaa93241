"""What an agent is given: task context and the knowledge graph of a file.

May import `playbook`, `memories` and everything below them; never `ace`.
"""
