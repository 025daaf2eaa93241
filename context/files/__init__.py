"""Where to start: the files of earlier tasks that a new task probably needs.

`file_use` counts what the tasks that the caller may see did with each file, `recommend`
ranks the files, and `file_lines` writes them.
"""
