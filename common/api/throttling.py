"""Limit the requests of a key, of a project and of an address without a key."""

from __future__ import annotations

import functools
import math
import time
import uuid
from dataclasses import dataclass
from typing import Any

import redis
from django.conf import settings
from django.http import HttpResponseBase
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from common import best_effort_redis
from common.address import client_network
from common.api.problem import TooManyRequests
from common.caller import Caller

PERIODS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True)
class Rate:
    requests: int
    seconds: int


@dataclass(frozen=True)
class Window:
    """How much of a rate is used in the current window; the window ends in `reset` seconds."""

    limit: int
    used: int
    reset: int

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.used)


@functools.lru_cache(maxsize=32)
def parse_rate(text: str) -> Rate | None:
    """Parse `1200/min`; an empty text is no limit."""
    if not text:
        return None
    requests, _, period = text.partition("/")
    return Rate(int(requests), PERIODS[period.strip()[:1]])


def count_request(name: str, rate: Rate) -> Window | None:
    """Count one request in the current window; return None while Redis does not answer."""
    now = time.time()
    number = int(now // rate.seconds)
    key = f"memory:throttle:{name}:{number}"

    def add(store: redis.Redis) -> int:
        pipe = store.pipeline(transaction=False)
        pipe.incr(key)
        pipe.expire(key, rate.seconds * 2)
        used: int = pipe.execute()[0]
        return used

    used = best_effort_redis.call(add)
    if used is None:
        return None
    left = math.ceil((number + 1) * rate.seconds - now)
    return Window(rate.requests, used, max(1, left))


def charge(request: Any, name: str, text: str) -> None:
    """Count a request once under a name; refuse the request when the rate is used up."""
    limit = parse_rate(text)
    windows = windows_of(request)
    if limit is None or name in windows:
        return
    window = count_request(name, limit)
    if window is None:
        return
    windows[name] = window
    if window.used > window.limit:
        raise TooManyRequests(retry_after=window.reset)


def windows_of(request: Any) -> dict[str, Window]:
    """Return the windows that counted this request; Django's own request holds them."""
    django_request = getattr(request, "_request", request)
    if not hasattr(django_request, "throttle_windows"):
        django_request.throttle_windows = {}
    windows: dict[str, Window] = django_request.throttle_windows
    return windows


def charge_caller(request: Any, caller: Caller) -> None:
    """Count a request of a key, with its rotations, or of a person."""
    charge(request, caller.share, settings.THROTTLE_KEY)


def charge_project(request: Any, project_id: uuid.UUID) -> None:
    charge(request, f"project:{project_id}", settings.THROTTLE_PROJECT)


def charge_address(request: Any) -> None:
    """Count a request without a valid key, by its address."""
    network = client_network(request.META)
    charge(request, f"address:{network}", settings.THROTTLE_ANONYMOUS)


def set_headers(request: Any, response: HttpResponseBase) -> None:
    """Set headers about the window with the fewest requests left; Reset is in seconds."""
    windows = windows_of(request).values()
    if not windows:
        return
    tightest = min(windows, key=lambda window: window.remaining)
    response["X-RateLimit-Limit"] = str(tightest.limit)
    response["X-RateLimit-Remaining"] = str(tightest.remaining)
    response["X-RateLimit-Reset"] = str(tightest.reset)


class CallerThrottle(BaseThrottle):
    """Count each request of a known caller; raise the refusal instead of returning it."""

    def allow_request(self, request: Request, view: Any) -> bool:
        if isinstance(request.auth, Caller):
            charge_caller(request, request.auth)
        return True
