"""The families of lessons that the rules draw from one task, each from its own evidence.

The package may import everything else in `ace.rules` but `ace.rules.lessons`.
"""
