"""What a store promises, on emulators of GCS and Azure, and on HDFS."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pyarrow as pa
import pytest

from emulators.servers import Emulator
from s3.proxied import Proxied
from s3.rules import Fault, Rule
from versioned_catalog import Catalog, CommitOutcomeUnknown, CorruptTableError, StorageError
from versioned_catalog.storage import remote
from versioned_catalog.storage.opening import open_store
from versioned_catalog.storage.store import Put, Store

pytestmark = [pytest.mark.thorough, pytest.mark.nightly]

BLOCKS = bytes(range(256)) * 4 * 1024 * 70
"""70 MiB: the clients of GCS and Azure upload so much in several requests."""


ENTRY = "ifGenerationMatch|/log/0*1[.]json|renameoptions=NONE"
"""What creates an entry. The name of an object of GCS is in the body of the request."""

NO_EFFECT = (Fault.DROP_REQUEST, Fault.ERROR_503)
EFFECT = (Fault.DROP_REPLY, Fault.LATE, Fault.ERROR_503_AFTER)


@pytest.fixture(autouse=True)
def unproven() -> None:
    """Let each test check again that its server honours the condition."""
    remote._known_to_comply.cache_clear()


@pytest.fixture
def store(emulator: Emulator) -> Store:
    return open_store(emulator.place(), emulator.options)


@pytest.mark.parametrize("size", [0, 1, 100_000, len(BLOCKS)])
def test_the_first_put_wins(store: Store, size: int) -> None:
    """Small files are put by one request, and large ones by several, which one writer completes."""
    assert store.put_if_absent("log/0", BLOCKS[:size]) is Put.WON
    assert store.put_if_absent("log/0", b"second") is Put.TAKEN
    assert store.put_if_absent("log/0", BLOCKS[: size // 2]) is Put.TAKEN
    assert store.read("log/0", 1 << 30) == BLOCKS[:size]


@pytest.mark.parametrize("size, writers, races", [(100, 16, 40), (len(BLOCKS) - 16, 3, 2)])
def test_one_of_many_writers_wins(store: Store, size: int, writers: int, races: int) -> None:
    for race in range(races):
        contents = [bytes([number]) * size for number in range(writers)]
        with ThreadPoolExecutor(writers) as pool:
            outcomes = list(
                pool.map(lambda data, race=race: store.put_if_absent(f"log/{race}", data), contents)
            )
        assert Counter(outcomes) == {Put.WON: 1, Put.TAKEN: writers - 1}
        assert store.read(f"log/{race}", 1 << 30) == contents[outcomes.index(Put.WON)]


def test_files_are_replaced_listed_dated_and_deleted(store: Store) -> None:
    before = store.now()
    for name in ("data/b", "data/a", "data/below/c", "data/k=\u00e4 %20+#&/0-\u4e2d[1]*.parquet"):
        store.overwrite(name, b"old")
    store.overwrite("data/b", b"new one")
    assert store.read("data/b") == b"new one"
    files = store.files("data")
    assert [(file.name, file.bytes) for file in files] == [("a", 3), ("b", 7)]
    early, late = before - timedelta(seconds=2), store.now() + timedelta(seconds=2)
    assert all(early <= file.modified <= late for file in files)
    assert store.list("data", "b") == ["b"]
    names = ["a", "b", "below/c", "k=\u00e4 %20+#&/0-\u4e2d[1]*.parquet"]
    assert [file.name for file in store.walk("data")] == names
    assert (store.files("none"), list(store.walk("none")), store.read("none")) == ([], [], None)
    store.delete_all([f"data/{name}" for name in [*names[1:], "missing"]])
    assert [file.name for file in store.walk("data")] == ["a"]
    left = [file.name for file in store.walk("_versioned")]
    assert left == [], "the file that shows the time"


@pytest.mark.parametrize("size", [0, 3, len(BLOCKS)])
def test_a_large_file_is_visible_when_it_is_whole(store: Store, size: int) -> None:
    with store.create("data/x") as sink:
        for start in range(0, size, 3_000_000):
            sink.write(BLOCKS[start : min(start + 3_000_000, size)])
        assert store.read("data/x") is None
    file = store.open("data/x")
    assert file.size() == size
    if size > 3:
        file.prefetch([(100, 20_000_000), (30_000_000, 30_000_100)])
        file.seek(30_000_000)
        assert bytes(file.read(100)) == BLOCKS[30_000_000:30_000_100]
    store.delete("data/x")
    with pytest.raises(CorruptTableError, match="x is missing"):
        store.open("data/x")


@pytest.mark.parametrize("size", [3, len(BLOCKS)])
def test_a_file_that_is_given_up_never_appears(store: Store, size: int) -> None:
    def give_up() -> None:
        with store.create("data/x") as sink:
            sink.write(BLOCKS[:size])
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        give_up()
    assert list(store.walk("")) == []


def test_a_folder_in_the_place_of_a_file_is_no_free_name(emulator: Emulator, store: Store) -> None:
    """A plain rename of HDFS would move the file into the folder, and report success."""
    store.overwrite("log/0/below", b"")
    outcome = store.put_if_absent("log/0", b"x")
    names = [file.name for file in store.walk("log") if not file.name.startswith(".")]
    if emulator.kind.scheme == "webhdfs":
        assert outcome is not Put.WON
        assert names == ["0/below"]
    else:  # object stores have no folders
        assert outcome is Put.WON
        assert names == ["0", "0/below"]


def test_a_bucket_that_is_missing_is_reported_before_a_commit(emulator: Emulator) -> None:
    if emulator.kind.scheme == "webhdfs":
        pytest.skip("HDFS has no buckets")
    url = f"{emulator.kind.scheme}://no-such-bucket/t"
    with pytest.raises(StorageError, match="can't write"):
        Catalog.create_path(url, "id LONG", storage_options=emulator.options)


def test_missing_write_access_is_reported_before_a_commit(
    emulator: Emulator, faulty: Proxied
) -> None:
    url = emulator.place()
    faulty.set_rules(Rule(Fault.ERROR_403, "PUT|POST", times=1000))
    with pytest.raises(StorageError, match="can't write"):
        Catalog.create_path(url, "id LONG", storage_options=emulator.through(faulty.endpoint))


def test_a_server_that_ignores_the_condition_is_refused(
    emulator: Emulator, faulty: Proxied
) -> None:
    if emulator.kind.scheme == "abfs":
        pytest.skip("Azure signs the condition, so a proxy can't leave it out")
    url = emulator.place()
    faulty.set_rules(Rule(Fault.UNCONDITIONAL, "POST|PUT", times=1000))
    with pytest.raises(StorageError, match=r"ignores (ifGenerationMatch|renameoptions)"):
        Catalog.create_path(url, "id LONG", storage_options=emulator.through(faulty.endpoint))
    assert open_store(url, emulator.options).list("_versioned/log") == []


@pytest.mark.nightly
@pytest.mark.parametrize("fault", [*NO_EFFECT, *EFFECT], ids=lambda fault: fault.name)
def test_a_commit_lands_once_whatever_happens_to_its_put(
    fault: Fault, emulator: Emulator, faulty: Proxied
) -> None:
    """The clients repeat a put whose response was lost; then the name is taken by the writer itself."""
    url, options = emulator.place(), emulator.through(faulty.endpoint)
    table = Catalog.create_path(url, "id LONG", storage_options=options)
    faulty.set_rules(Rule(fault, "PUT|POST", path=ENTRY, seconds=0.15))
    assert table.append(_ids(7)) == 1
    assert [one.fault for one in faulty.seen() if one.fault] == [fault]
    time.sleep(0.3)
    now = Catalog.load_path(url, storage_options=emulator.options)
    assert (now.version, now.scan().to_arrow()["id"].to_pylist()) == (1, [7])


@pytest.mark.nightly
@pytest.mark.parametrize("first", [Fault.DROP_REPLY, Fault.LATE], ids=lambda fault: fault.name)
def test_an_outcome_that_is_unknown_can_be_looked_up(
    first: Fault, emulator: Emulator, faulty: Proxied
) -> None:
    url, options = emulator.place(), emulator.through(faulty.endpoint)
    table = Catalog.create_path(url, "id LONG", storage_options=options)
    faulty.set_rules(
        Rule(first, "PUT|POST", path=ENTRY, seconds=0.15),
        Rule(Fault.ERROR_403, "PUT|POST", path=ENTRY, times=1000),
        Rule(Fault.ERROR_403, "GET|HEAD", times=1000),
    )
    with pytest.raises(CommitOutcomeUnknown) as caught:
        table.append(_ids(7))
    faulty.set_rules()
    time.sleep(0.3)
    now = Catalog.load_path(url, storage_options=emulator.options)
    assert now.find_commit(caught.value.commit_id, 0) == 1
    assert now.count() == 1


def _ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})
