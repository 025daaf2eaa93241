"""REST views of memories, with one file for each noun.

A view parses the request, calls one function and answers. The package may import every
other package of `memories` but `admin`.
"""
