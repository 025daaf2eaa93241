"""REST views of memories, a file for each noun: parse, call one function, answer.

May import every other room of `memories` but `admin`.
"""
