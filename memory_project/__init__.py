"""Wiring only: settings, urls, celery, wsgi, system checks, the embedded servers."""
