"""The pages for people beyond the admin's lists and forms: home, review inbox, weekly.

This app may import every app below it. A view parses the request, calls one function
and renders a template.
"""
