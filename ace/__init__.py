"""Turn a finished task into a memory, a reflection and changes to the playbook.

`run` starts the three phases: `executor`, `reflector` and `curator`. This package may
import `playbook`, `memories` and the apps below them. `ace.task` does not use the
database.
"""
