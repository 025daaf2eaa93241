"""The agent with memory: a ReAct loop that recalls before it thinks and learns afterwards.

`tiers` keeps facts and episodes. `recall` and `prompt` build what the model is given, `loop` runs the steps with `protocols`
and `tools`, `runs` records them, and `learning` stores what an invocation taught.
"""
