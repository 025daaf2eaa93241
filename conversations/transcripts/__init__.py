"""Read the transcripts of coding agents: messages, and the tasks that they finished. Pure.

One module reads one format, as a stream: a line in, messages and tasks out.
"""
