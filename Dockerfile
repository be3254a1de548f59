# Image of all services in docker-compose.yml: Python, a JDK and the packages of uv.lock.
FROM python:3.11.9-slim-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jdk-headless procps \
    && rm -rf /var/lib/apt/lists/* \
    && pip install --no-cache-dir uv==0.13.9

WORKDIR /versioned
COPY pyproject.toml uv.lock hatch_build.py README.md LICENSE ./
COPY catalog catalog
COPY connector connector
COPY examples examples
RUN uv sync --frozen --extra test --no-cache

ENV PATH=/versioned/.venv/bin:$PATH PYSPARK_PYTHON=/versioned/.venv/bin/python
