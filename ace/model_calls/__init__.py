"""Ask the language model for a run: its prompts, its account and its time limit.

May import `ace.models` and the apps below.
"""
