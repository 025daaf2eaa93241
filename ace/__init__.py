"""Turn a finished task into a memory, a reflection and playbook deltas.

The rules (task to lessons) import no app and no Django; the run that stores what
they say may import playbook, memories and everything below them.
"""
