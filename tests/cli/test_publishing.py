"""Publishing as Iceberg on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Run
from publish.engines import PYICEBERG
from publish.lakes import lake_of
from versioned_catalog import Catalog


def test_publish_and_unpublish(run: Run, warehouse: Path) -> None:
    done = run("publish", "db.people", "--json").json
    assert (done["version"], done["format version"], done["versions left out"]) == (1, 3, 0)
    assert len(PYICEBERG.read(done["metadata"], None, None)) == 2
    assert run("publish", "db.people", "--json").json["files written"] == 0
    again = run("publish", "db.people", "--overwrite", "--format-version", "2", "--json").json
    assert (again["format version"], again["metadata"][-17:]) == (2, "/v2.metadata.json")
    assert run("unpublish", "db.people", "--json").json["deleted files"] == 9
    assert run("publish", "db.people", "--format-version", "1").code == 2
    assert run("publish", "db.nobody").code == 3


def test_a_publication_is_registered(
    run: Run, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lake_of("sql", tmp_path) as lake:
        refused = run("alter", "db.people", "set-property", "publish.catalog", "lake")
        assert refused.code == 4
        assert "add it to ~/.pyiceberg.yaml" in refused.err
        lake.configure(monkeypatch)
        assert run("alter", "db.people", "set-property", "publish.catalog", "lake").code == 0
        assert lake.location("db.people") is None
        assert run("publish", "db.people", "--json").json["registered"] == "lake: db.people"
        assert len(lake.rows("db.people")) == 2
        run("unpublish", "db.people")
        assert lake.location("db.people") is None


def test_a_refusal_names_the_way_out(run: Run, warehouse: Path) -> None:
    table = Catalog(warehouse).load_table("db.people")
    table.alter().change_type("id", "DOUBLE").commit()
    refused = run("publish", "db.people")
    assert refused.code == 4
    assert "the column id" in refused.err
    assert "compact" in refused.err
