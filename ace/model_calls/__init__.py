"""Ask the language model for a run, within the time limit and on the project's account.

This package may import `ace.models` and the apps below `ace`.
"""
