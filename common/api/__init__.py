"""Base of the JSON API: parsing, views, serializers, throttles, problem+json, OpenAPI.

May import `common` outside of `admin` and `erasure`, Django, DRF and drf-spectacular.
"""
