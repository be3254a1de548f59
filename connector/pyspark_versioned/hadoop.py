"""How Hadoop reaches a table's folder: fsspec's storage options as Hadoop settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pyspark_versioned.sql.protocol.common import HadoopFolder
from versioned_catalog.storage.hdfs import NAME_NODE
from versioned_catalog.storage.opening import in_lower_case, split_options
from versioned_catalog.storage.s3 import flat_options

_PROVIDERS = "org.apache.hadoop.fs.s3a."
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
_SUPPORTED = frozenset(
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
    """How Hadoop reaches a table's folder, or None if a storage option has no Hadoop setting.

    The settings include those of the external roots that are configured, if these do not contradict.

    Args:
        storage: storage options of fsspec. Both s3fs and Hadoop take missing ones from the environment,
            but Hadoop does not take the endpoint.
    """
    options, roots = split_options(storage)
    folder = _folder(location, options)
    if folder is None:
        return None
    conf = dict(folder.conf)
    for root in roots.values():
        root_folder = _folder(root.url, options if root.options is None else root.options)
        if root_folder is not None and all(
            conf.get(k, v) == v for k, v in root_folder.conf.items()
        ):
            conf |= root_folder.conf
    return HadoopFolder(folder.url, conf)


def root_urls(location: str, storage: Mapping[str, Any]) -> dict[str, str]:
    """The external roots that Hadoop reaches with the settings of ``hadoop_folder``, by name.

    Not those on another file system than the table's, for which Spark may have no classes.
    """
    folder, urls = hadoop_folder(location, storage), dict[str, str]()
    options, roots = split_options(storage)
    if folder is None:
        return urls
    for name, root in roots.items():
        other = _folder(root.url, options if root.options is None else root.options)
        if other is None or not (_is_local(root.url) or _scheme(other.url) == _scheme(folder.url)):
            continue
        if other.conf.items() <= folder.conf.items():
            urls[name] = other.url
    return urls


def _scheme(url: str) -> str:
    return url.partition("://")[0]


def _is_local(location: str) -> bool:
    location = in_lower_case(location)
    return "://" not in location or location.startswith("file:")


def _folder(location: str, storage: Mapping[str, Any]) -> HadoopFolder | None:
    """``hadoop_folder`` of one folder alone."""
    location = in_lower_case(location)
    if location.startswith("webhdfs://"):
        return _hdfs(location, storage)
    if not location.startswith("s3://"):
        is_usable = _is_local(location) or not storage
        return HadoopFolder(_absolute(location), {}) if is_usable else None
    options = flat_options(storage).items()
    flat = {name: str(value) for name, value in options if value is not None}
    if not flat.keys() <= _SUPPORTED:
        return None
    bucket = location.removeprefix("s3://").partition("/")[0]
    conf = {f"fs.s3a.bucket.{bucket}.{key}": value for key, value in _s3a(flat).items()}
    return HadoopFolder(f"s3a{location[2:]}", conf)


def _hdfs(location: str, storage: Mapping[str, Any]) -> HadoopFolder | None:
    """The folder as Hadoop's own protocol names it, if an option says where that is served.

    Hadoop's file system for ``webhdfs://`` lacks a class that Spark does not bring.
    """
    if NAME_NODE not in storage or not storage.keys() <= {NAME_NODE, "data_proxy"}:
        return None
    folder = location.removeprefix("webhdfs://").partition("/")[2]
    return HadoopFolder(f"{str(storage[NAME_NODE]).rstrip('/')}/{folder}", {})


def _absolute(location: str) -> str:
    """A local path as Hadoop finds it."""
    return location if "://" in location else os.path.abspath(os.path.expanduser(location))


def _s3a(options: Mapping[str, str]) -> dict[str, str]:
    conf = _credentials(options)
    endpoint = options.get("endpoint_url") or options.get("client_kwargs.endpoint_url")
    endpoint = endpoint or _from_environment(_ENDPOINT_VARIABLES)
    region = options.get("region") or options.get("client_kwargs.region_name")
    if endpoint:
        conf["endpoint"] = endpoint
        conf["path.style.access"] = "true"
        conf["connection.ssl.enabled"] = str(endpoint.startswith("https")).lower()
        # Hadoop requires a region; this is the default of s3fs.
        region = region or _from_environment(_REGION_VARIABLES) or "us-east-1"
    if region:
        conf["endpoint.region"] = region
    return conf


def _credentials(options: Mapping[str, str]) -> dict[str, str]:
    provider = "aws.credentials.provider"
    if options.get("anon", "").lower() == "true":
        return {provider: f"{_PROVIDERS}AnonymousAWSCredentialsProvider"}
    if "key" not in options:
        return {}
    keys = {"access.key": options["key"], "secret.key": options.get("secret", "")}
    if "token" in options:
        temporary = f"{_PROVIDERS}TemporaryAWSCredentialsProvider"
        return {**keys, "session.token": options["token"], provider: temporary}
    return {**keys, provider: f"{_PROVIDERS}SimpleAWSCredentialsProvider"}


def _from_environment(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)
