"""Reflect on a finished task: its outcome, its evidence and the lessons it teaches.

The rules reflect first; then a language model may add lessons. This package may import
`ace.model_calls`, `ace.models`, `ace.repairs`, `ace.rules` and the apps below `ace`, but not
`ace.curate`.
"""
