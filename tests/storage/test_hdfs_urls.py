"""How HDFS is named: in Python by its name node's HTTP, for Spark by Hadoop's own protocol."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_versioned.hadoop import hadoop_folder
from pyspark_versioned.sql.protocol.common import HadoopFolder
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.storage.opening import open_store

URL = "webhdfs://node:9870/lake/n/t"
RPC = {"name_node": "hdfs://node:8020/"}


@pytest.mark.parametrize(
    "options, expected",
    [
        (RPC, HadoopFolder("hdfs://node:8020/lake/n/t", {})),
        ({**RPC, "data_proxy": {"a": "b"}}, HadoopFolder("hdfs://node:8020/lake/n/t", {})),
        ({}, None),
        ({**RPC, "user": "else"}, None),
        ({**RPC, "kerberos": True}, None),
    ],
)
def test_spark_uses_the_name_node_that_an_option_names(
    options: dict[str, Any], expected: HadoopFolder | None
) -> None:
    """With an option that Hadoop lacks, or none, Spark goes through Python."""
    assert hadoop_folder(URL, options) == expected


def test_a_table_keeps_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "ann")
    store = open_store(URL, RPC)
    assert store.url == URL
    assert store.child("data").url == f"{URL}/data"
    assert store.endpoint == "http://node:9870/webhdfs/v1"
    assert store._fs.pars == {"user.name": "ann"}  # type: ignore[attr-defined]
    assert open_store("webhdfs://node/lake").endpoint == "http://node:9870/webhdfs/v1"


@pytest.mark.parametrize("url", ["webhdfs://node:9870", "webhdfs:///lake", f"{URL}?op=DELETE"])
def test_a_url_without_a_host_or_a_folder_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequestError, match="give HDFS as webhdfs://"):
        open_store(url)


def test_an_option_that_is_unknown_is_refused_without_its_value() -> None:
    with pytest.raises(InvalidRequestError, match="with the options kerberos, user") as caught:
        open_store(URL, {"user": "hidden", "kerberos": True})
    assert "hidden" not in str(caught.value)


def test_other_urls_of_hdfs_are_read_only() -> None:
    """fsspec opens them with a library of Hadoop, which may be missing."""
    with pytest.raises(InvalidRequestError, match="webhdfs://"):
        Catalog.create_path("hdfs://node:8020/t", "id INT")
