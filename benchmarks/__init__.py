"""The benchmarks that measure the project's published figures.

`manage.py benchmark` runs them. This app may import every app below `embedded`. Only
`memory_project` and `embedded` may import this app.
"""
