"""The wiring of the service: settings, URLs, Celery, WSGI, middleware and checks.

May import every app; no app imports it.
"""
