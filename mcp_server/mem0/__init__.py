"""The HTTP API of mem0, so that mem0's own clients work with the memories of a project.

The views parse, call the functions that the REST API calls, and answer in mem0's shapes.
"""
