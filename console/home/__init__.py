"""The home page: a project's memory and playbook in figures, one figure a module.

Each figure is one bounded query through `visible_to(caller)` and links to the rows it
counts. May import every app below `console`.
"""
