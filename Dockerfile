# The web, worker and beat image. PostgreSQL and Redis run beside it: see compose.yaml.
FROM python:3.11-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/venv
COPY requirements.txt /tmp/requirements.txt
RUN /opt/venv/bin/pip install --require-hashes -r /tmp/requirements.txt

FROM python:3.11-slim-bookworm
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 WEB_BIND=0.0.0.0:8000 DATA_DIR=/data
RUN useradd --system --uid 10001 --home-dir /data --create-home memory
COPY --from=build /opt/venv /opt/venv
COPY . /app
WORKDIR /app
USER memory
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"]
CMD ["gunicorn", "-c", "gunicorn.conf.py"]
