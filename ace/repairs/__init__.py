"""Repairs: the call that failed, the call that cured it, and what is said of both.

`cures` finds them in the calls of a task. `record` stores them, `trust` says who may be told,
and `lookup` tells the fix of a call that has just failed. `ace.lessons.fixes` teaches the same
repairs. The package may import `ace.models`, `ace.task` and the apps below `ace`.
"""
