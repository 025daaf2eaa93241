"""Known fixes: what cured the failures of earlier tasks, said at the moment of failure.

`record` stores the repairs of a finished task; `lookup` finds the fix of a failed call, and
`silence` says why a fix is not said. This package may import `ace.models`, `ace.rules` and
the apps below `ace`.
"""
