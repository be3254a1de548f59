"""How Hadoop reaches a table's folder: fsspec's storage options as Hadoop settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pyspark_versioned.sql.protocol.common import HadoopFolder
from versioned_catalog.storage.s3_options import flat_options

_PROVIDERS = "org.apache.hadoop.fs.s3a."
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
_KNOWN = frozenset(
    (
        "key",
        "secret",
        "token",
        "anon",
        "endpoint_url",
        "client_kwargs.endpoint_url",
        "region",
        "client_kwargs.region_name",
        "use_ssl",
        "max_concurrency",
    )
)
"""Options that have a Hadoop setting, or that do not matter to Hadoop."""


def hadoop_folder(location: str, storage: Mapping[str, Any]) -> HadoopFolder | None:
    """How Hadoop reaches a folder, or None if a storage option has no Hadoop setting.

    Args:
        storage: storage options of fsspec. Both s3fs and Hadoop take missing ones from the environment,
            but Hadoop does not take the endpoint.
    """
    if not location.startswith("s3://"):
        is_local = "://" not in location or location.startswith("file:")
        return HadoopFolder(location, {}) if is_local or not storage else None
    given = flat_options(storage).items()
    flat = {name: str(value) for name, value in given if value is not None}
    if not flat.keys() <= _KNOWN:
        return None
    bucket = location.removeprefix("s3://").partition("/")[0]
    conf = {f"fs.s3a.bucket.{bucket}.{key}": value for key, value in _s3a(flat).items()}
    return HadoopFolder(f"s3a{location[2:]}", conf)


def _s3a(given: Mapping[str, str]) -> dict[str, str]:
    conf = _credentials(given)
    endpoint = given.get("endpoint_url") or given.get("client_kwargs.endpoint_url")
    endpoint = endpoint or _from_environment(_ENDPOINT_VARIABLES)
    region = given.get("region") or given.get("client_kwargs.region_name")
    if endpoint:
        conf["endpoint"] = endpoint
        conf["path.style.access"] = "true"
        conf["connection.ssl.enabled"] = str(endpoint.startswith("https")).lower()
        # Hadoop requires a region; this is the default of s3fs.
        region = region or _from_environment(_REGION_VARIABLES) or "us-east-1"
    if region:
        conf["endpoint.region"] = region
    return conf


def _credentials(given: Mapping[str, str]) -> dict[str, str]:
    provider = "aws.credentials.provider"
    if given.get("anon", "").lower() == "true":
        return {provider: f"{_PROVIDERS}AnonymousAWSCredentialsProvider"}
    if "key" not in given:
        return {}
    keys = {"access.key": given["key"], "secret.key": given.get("secret", "")}
    if "token" in given:
        temporary = f"{_PROVIDERS}TemporaryAWSCredentialsProvider"
        return {**keys, "session.token": given["token"], provider: temporary}
    return {**keys, provider: f"{_PROVIDERS}SimpleAWSCredentialsProvider"}


def _from_environment(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)
