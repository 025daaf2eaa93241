"""Turn a finished task into a memory, a reflection and changes to the playbook.

`run` starts the phases: `executor`, `reflect`, `curate`. May import `playbook`, `memories`
and the apps below; `ace.rules` imports no database.
"""
