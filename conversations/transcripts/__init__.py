"""Read the transcripts of coding agents: messages, and the tasks that they finished. Pure.

One module reads the lines of one format. `reader` has the table of formats and what they
share; `tasks` finds the tasks in the messages of any format.
"""
