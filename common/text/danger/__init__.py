"""Dangerous advice: find commands and phrases that no agent should follow unasked.

`detect.find_dangers` is the function that others call.
"""
