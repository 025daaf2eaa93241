"""The home page: a project's memory and playbook in figures. Each module has one figure.

Each figure comes from one bounded query through `visible_to(caller)`, and links to the
rows that it counts. This package may import every app below `console`.
"""
