"""Reflect on a finished task: its outcome, its evidence and the lessons it teaches.

Rules reflect first; a language model may add lessons. May import `ace.model_calls`,
`ace.models`, `ace.rules` and the apps below; never `ace.curate`.
"""
