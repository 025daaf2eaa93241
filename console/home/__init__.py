"""The first page: how a project's memory and playbook are doing, in figures.

A file is a figure. Each is one bounded query through `visible_to(caller)`, and its
numbers lead to the rows that they count.
"""
