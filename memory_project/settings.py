"""Every setting comes from the environment; `.env.example` lists each name.

A value may also come from a file: `SECRET_KEY_FILE=/run/secrets/key`.
"""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Any

import environ
import structlog
from django.core.exceptions import ImproperlyConfigured
from django.templatetags.static import static
from psycopg.conninfo import conninfo_to_dict

from common.logs import mask_secrets as mask_log_secrets

BASE_DIR = Path(__file__).resolve().parent.parent
# An IPv6 address is in brackets.
HOST = r"(?:\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::(\d{1,5}))?"
env = environ.FileAwareEnv()
environ.Env.read_env(BASE_DIR / ".env")


def number(name: str, default: int, *, least: int = 0) -> int:
    value: int = env.int(name, default=default)
    if value < least:
        raise ImproperlyConfigured(f"{name} must be at least {least}, not {value}.")
    return value


def rate(name: str, default: str) -> str:
    value: str = env.str(name, default=default)
    if not re.fullmatch(r"|\d+/(s|sec|m|min|h|hour|d|day)", value):
        raise ImproperlyConfigured(f"{name} must be like 1200/min, not {value!r}.")
    return value


def price(name: str, default: float) -> float:
    value: float = env.float(name, default=default)
    if not 0 <= value < 1_000_000:
        raise ImproperlyConfigured(f"{name} must be a price, not {value}.")
    return value


def choice(name: str, default: str, choices: set[str]) -> str:
    value: str = env.str(name, default=default)
    if value not in choices:
        known = ", ".join(sorted(choices))
        raise ImproperlyConfigured(f"{name} must be one of {known}, not {value!r}.")
    return value


def hosts(name: str, default: list[str]) -> list[str]:
    """Return hosts of the form HOST or HOST:PORT; an IPv6 address is in brackets."""
    values: list[str] = env.list(name, default=default)
    for value in values:
        match = re.fullmatch(HOST, value)
        if not match or int(match[1] or 1) not in range(1, 65_536):
            raise ImproperlyConfigured(
                f"{name} must list hosts as HOST or HOST:PORT, not {value!r}."
            )
    return values


def tool_secrets() -> dict[str, str]:
    """Return `HOST SECRET` of each variable AGENT_TOOL_NAME; an error names no secret."""
    names = {
        name.removesuffix("_FILE")
        for name in os.environ
        if name.startswith("AGENT_TOOL_")
    }
    values = {name: env.str(name).strip() for name in sorted(names)}
    for name, value in values.items():
        if not re.fullmatch(rf"{HOST} [!-~](?:[ -~]{{6,7998}}[!-~])", value):
            raise ImproperlyConfigured(
                f"{name} must be HOST or HOST:PORT, a space, and the secret for this host, "
                "which has 8 to 8,000 characters of ASCII."
            )
    return values


def database(url: str) -> dict[str, Any]:
    parts = {key: str(value) for key, value in conninfo_to_dict(url).items()}
    options: dict[str, Any] = {
        # There are no prepared statements, because a generic plan would not use the
        # project's own index (docs/decisions/0024-functions-and-keys-have-cached-plans.md).
        "prepare_threshold": None,
        "options": " ".join(
            f"-c {name}={value}"
            for name, value in {
                "statement_timeout": number("STATEMENT_TIMEOUT_MS", 30_000),
                "lock_timeout": number("LOCK_TIMEOUT_MS", 10_000),
                "idle_in_transaction_session_timeout": 60_000,
                "jit": "off",
            }.items()
        ),
    }
    if DATABASE_POOL:
        options["pool"] = {"min_size": 1, "max_size": DATABASE_POOL, "timeout": 10}
    options |= {key: parts[key] for key in ("sslmode", "sslrootcert") if parts.get(key)}
    return {
        "ENGINE": "common.postgresql",
        "NAME": parts.get("dbname", "memory"),
        "USER": parts.get("user", ""),
        "PASSWORD": parts.get("password", ""),
        "HOST": parts.get("host", ""),
        "PORT": parts.get("port", ""),
        # A connection is kept for an hour, as in a pool. The first hundred searches of a
        # connection map the index into the connection's process; their time falls from 17
        # to 7 ms. Later searches take 6 ms.
        "CONN_MAX_AGE": 0 if DATABASE_POOL else 3600,
        "CONN_HEALTH_CHECKS": not DATABASE_POOL,
        "OPTIONS": options,
    }


def replica(url: str) -> dict[str, Any]:
    settings = database(url)
    # A replica that does not answer must not delay a search for long.
    settings["OPTIONS"]["connect_timeout"] = 2
    if DATABASE_POOL:
        settings["OPTIONS"]["pool"]["timeout"] = 2
    return settings | {"TEST": {"MIRROR": "default"}}


# Core
DEBUG = env.bool("DEBUG", default=False)
VERSION = (
    re.search(r"^## (\S+)", (BASE_DIR / "CHANGELOG.md").read_text(), re.M) or ["", "0"]
)[1]
SECRET_KEY = env.str("SECRET_KEY", default="")
if not SECRET_KEY.strip():
    SECRET_KEY = ""  # `startup` refuses to serve without one
# Earlier keys: sessions stay readable after SECRET_KEY changed.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
if not all(key.strip() for key in SECRET_KEY_FALLBACKS):
    raise ImproperlyConfigured("SECRET_KEY_FALLBACKS has an empty key; remove it.")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
ROOT_URLCONF = "memory_project.urls"
WSGI_APPLICATION = "memory_project.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATA_DIR = Path(env.str("DATA_DIR", default=str(BASE_DIR / "var")))
APPEND_SLASH = False
LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = ["memory_project.formats"]
USE_TZ = True

INSTALLED_APPS = [
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_structlog",
    "axes",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "common",
    "audit",
    "jobs",
    "inference",
    "projects",
    "access",
    "search",
    "memories",
    "conversations",
    "agents",
    "playbook",
    "context",
    "console",
    "mcp_server",
    "ace",
    "embedded",
    "memory_project",
]

MIDDLEWARE = [
    "memory_project.middleware.MetricsMiddleware",
    "common.api.middleware.NoStoreMiddleware",
    "common.api.middleware.VersionMiddleware",
    "memory_project.middleware.RequestLogMiddleware",
    "common.api.middleware.ProblemMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "memory_project.middleware.HostMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "memory_project.middleware.AdminMiddleware",
    "axes.middleware.AxesMiddleware",
    "common.api.middleware.MalformedIdMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["common.admin.visible_filter"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# PostgreSQL. Workers keep CONN_MAX_AGE: Celery closes a pool after each task.
DATABASE_POOL = number("DATABASE_POOL", 0)
DATABASES = {
    "default": database(env.str("DATABASE_URL", default="postgresql:///memory"))
}
# Searches and context may read replicas; everything else reads the primary.
DATABASES |= {
    f"replica{number}": replica(url)
    for number, url in enumerate(env.list("DATABASE_REPLICA_URLS", default=[]), start=1)
}
DATABASE_ROUTERS = ["common.replicas.ReplicaRouter"]
REPLICA_APPS = {
    "projects",
    "search",
    "memories",
    "playbook",
    "conversations",
    "context",
}

# Redis: broker, throttles, cache. It may lose anything at any time.
REDIS_URL = env.str("REDIS_URL", default="redis://127.0.0.1:6379/0")
REDIS_TIMEOUT = 1.0
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "memory",
        "OPTIONS": {
            "socket_timeout": REDIS_TIMEOUT,
            "socket_connect_timeout": REDIS_TIMEOUT,
        },
    }
}

# Signing in
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"
AXES_FAILURE_LIMIT = number("LOGIN_FAILURE_LIMIT", 5, least=1)
# Wrong passwords in an hour, for one address and for one account: access.sign_in_limits
LOGIN_ADDRESS_LIMIT = number("LOGIN_ADDRESS_LIMIT", 20, least=1)
LOGIN_ACCOUNT_LIMIT = number("LOGIN_ACCOUNT_LIMIT", 20, least=1)
AXES_HANDLER = "access.sign_in_limits.SignInLimits"
AXES_COOLOFF_TIME = 1  # hour
# Otherwise whoever goes on with wrong passwords would prolong the lock for ever.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "common.address.address_or_none"
AXES_ENABLE_ADMIN = False
SIGN_IN_DAYS = 90
AXES_VERBOSE = False  # it would print a line before the output of every command

# Transport: a proxy terminates HTTPS, so these settings are needed.
HTTPS = env.bool("HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'self'"],
        "form-action": ["'self'"],
    }
}
# The theme needs more: Alpine evaluates code, and colours are in a style element.
ADMIN_POLICY = {
    "script-src": ["'self'", "'unsafe-eval'"],
    "style-src": ["'self'", "'unsafe-inline'"],
}

# Static files
STATIC_URL = "static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(DATA_DIR / "static")))
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

# Limits of requests: docs/limits.md
BODY_LIMIT = number("BODY_LIMIT", 16 * 1024 * 1024, least=1024)  # bytes
BODY_DEPTH = 64
# Bytes of a transcript's part, expanded.
TRANSCRIPT_LIMIT = number("TRANSCRIPT_LIMIT", 64 * 1024 * 1024, least=1024)
DATA_UPLOAD_MAX_MEMORY_SIZE = BODY_LIMIT
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2_000
THROTTLE_KEY = rate("THROTTLE_KEY", "1200/min")
THROTTLE_PROJECT = rate("THROTTLE_PROJECT", "6000/min")
THROTTLE_ANONYMOUS = rate("THROTTLE_ANONYMOUS", "60/min")
IDEMPOTENCY_DAYS = 7
PROJECT_GRACE_DAYS = 30

# API
# "note" accepts requests with unknown fields; it exists for this release only.
UNKNOWN_FIELDS = choice("UNKNOWN_FIELDS", "refuse", {"refuse", "note"})
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "access.authentication.KeyAuthentication",
        "access.authentication.BrowserAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["access.permissions.IsCaller"],
    "DEFAULT_THROTTLE_CLASSES": ["common.api.throttling.CallerThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["common.api.parsing.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "common.api.openapi.OperationSchema",
    "EXCEPTION_HANDLER": "common.api.problem.handle_exception",
    "URL_FORMAT_OVERRIDE": None,
    "NUM_PROXIES": number("NUM_PROXIES", 0),
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Agent memory",
    "VERSION": VERSION,
    "DESCRIPTION": "Memory and a learning playbook for software agents.",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "PATH_CONVERTER_OVERRIDES": {"id_or_name": {"type": "string"}},
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "common.api.openapi.mark_nullable",
        "common.api.openapi.close_bodies",
        "common.api.openapi.add_problems",
    ],
    "ENUM_NAME_OVERRIDES": {
        "MemoryKindEnum": "memories.models.Memory.Kind",
        "MemorySourceEnum": "memories.models.Memory.Source",
        "WriteSourceEnum": "conversations.sources.SOURCES",
        "SearchModeEnum": ["hybrid", "semantic", "keyword"],
        "CompactionModeEnum": ["incremental", "full"],
        "SessionSearchScopeEnum": ["both", "messages", "summaries"],
        "AgentMemoryTextEnum": ["profile", "soul"],
        "MemoryTypeEnum": "memories.models.Memory.Type",
        "SensitivityEnum": "memories.models.Memory.Sensitivity",
        "EntryStatusEnum": "playbook.models.PlaybookEntry.EntryStatus",
        "AuthorEnum": "playbook.models.PlaybookEntry.Author",
        "DeltaStatusEnum": "playbook.models.PlaybookDelta.DeltaStatus",
        "DeltaOperationEnum": "playbook.models.PlaybookDelta.DeltaOperation",
        "ContextPartEnum": "context.context.PARTS",
        "ProposerEnum": ["model", "human"],
        "JobStateEnum": "jobs.models.Job.State",
        "RunStateEnum": "ace.models.AceRun.RunState",
        "PurgeStateEnum": "memories.models.Purge.PurgeState",
        "ReceiptStatusEnum": [
            "stored",
            "duplicate",
            "superseded_key",
            "waiting",
            "rejected",
        ],
    },
}

# Work in the background
CELERY_BROKER_URL = env.str(
    "CELERY_BROKER_URL", default=re.sub(r"^unix://", "redis+socket://", REDIS_URL)
).replace("?db=", "?virtual_host=" if REDIS_URL.startswith("unix:") else "?db=")
JOB_SWEEP_SECONDS = 10
JOB_RETENTION_DAYS = 30
MODEL_CALL_DAYS = 90

# Models
EMBEDDING_PROVIDER = env.str("EMBEDDING_PROVIDER", default="minilm")
EMBEDDING_MODEL = env.str("EMBEDDING_MODEL", default="")
EMBEDDING_URL = env.str("EMBEDDING_URL", default="")
EMBEDDING_API_KEY = env.str("EMBEDDING_API_KEY", default="")
EMBEDDING_PREVIOUS_API_KEY = env.str("EMBEDDING_PREVIOUS_API_KEY", default="")
EMBEDDING_DIMENSIONS = env.int("EMBEDDING_DIMENSIONS", default=0) or None
EMBEDDING_TIMEOUT = number("EMBEDDING_TIMEOUT", 10, least=1)  # seconds
EMBEDDING_BATCH = number("EMBEDDING_BATCH", 32, least=1)  # texts in one call
LANGUAGE_PROVIDER = env.str("LANGUAGE_PROVIDER", default="none")
LANGUAGE_MODEL = env.str("LANGUAGE_MODEL", default="")
LANGUAGE_URL = env.str("LANGUAGE_URL", default="")
LANGUAGE_API_KEY = env.str("LANGUAGE_API_KEY", default="")
LANGUAGE_TIMEOUT = number("LANGUAGE_TIMEOUT", 60, least=1)  # seconds
LANGUAGE_PRICE_IN = price("LANGUAGE_PRICE_IN", 0.0)  # per million tokens
LANGUAGE_PRICE_OUT = price("LANGUAGE_PRICE_OUT", 0.0)

PUBLIC_URL = env.str("PUBLIC_URL", default="")
# Tools of agents: docs/howto/agent-tools.md
TOOL_HOSTS = hosts("TOOL_HOSTS", [])
AGENT_TOOL_SECRETS = tool_secrets()

# Logs: one JSON object a line
LOG_LEVEL = env.str("LOG_LEVEL", default="INFO").upper()
SHARED_PROCESSORS: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    mask_log_secrets,
]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processor": structlog.processors.JSONRenderer(),
            "foreign_pre_chain": SHARED_PROCESSORS,
        }
    },
    "handlers": {"stdout": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stdout"], "level": LOG_LEVEL},
    "loggers": {
        # django-structlog writes a line for each request and its answer.
        "django.server": {"level": "WARNING"},
        "django.request": {"level": "ERROR"},
        "django_structlog": {"level": LOG_LEVEL},
        "celery": {"level": LOG_LEVEL},
        "httpx2": {"level": "WARNING"},
        "axes": {"level": "WARNING"},
        # What fails in a call of an MCP server becomes the tool's observation.
        "mcp": {"level": "CRITICAL"},
    },
}
structlog.configure(
    processors=[
        structlog.stdlib.filter_by_level,
        *SHARED_PROCESSORS,
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
DJANGO_STRUCTLOG_CELERY_ENABLED = True
# The line at a request's end says everything. The line at its start helps to find requests
# that hang.
DJANGO_STRUCTLOG_STATUS_START_LOG_LEVEL = logging.DEBUG
# django-structlog would trust any X-Forwarded-For header, so `common.logs` binds the
# address.
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False

# The admin
UNFOLD = {
    "SITE_TITLE": "Agent memory",
    "SITE_HEADER": "Agent memory",
    "SITE_SYMBOL": "neurology",
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": lambda request: static("admin/favicon.svg"),
        }
    ],
    "SITE_URL": None,
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "ENVIRONMENT": "memory_project.navigation.environment",
    "STYLES": [lambda request: static("admin/memory.css")],
    "SCRIPTS": [lambda request: static("admin/zone.js")],
    "SIDEBAR": {
        "show_search": True,
        "command_search": True,
        "navigation": "memory_project.navigation.sidebar",
    },
    # The theme caches search results for minutes, even after a person's role has ended.
    "COMMAND": {"search_models": False, "show_history": False},
}

if DEBUG and not SECRET_KEY:
    SECRET_KEY = "for development only; " + os.fspath(BASE_DIR)
