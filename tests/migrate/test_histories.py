"""Random histories of a schema file, its plans and what others do in two environments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from histories.seeded import first_seed
from migrate import naive_schemas as naive
from migrate.naive_schemas import KEY, WIDER, File, Line, Refused
from versioned_catalog import Catalog, CommitConflictError, InvalidRequestError, NotFoundError
from versioned_catalog import Table as RealTable
from versioned_catalog.cli.schema_changes import apply_file
from versioned_catalog.cli.schema_files import FilePlan, plan_files, read_plans, write
from versioned_catalog.errors import VersionedError

NAMES = ["a", "b", "c", "d"]
TYPES = ["INT", "BIGINT", "DOUBLE", "STRING"]
ARROW = {"INT": pa.int32(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(), "STRING": pa.string()}
ENVIRONMENTS = ["staging", "production"]
STEPS = 25

_LINE = re.compile(
    r"  (?P<name>\w+) (?P<type>\w+)(?P<key> NOT NULL)?(?: DEFAULT (?P<default>\d+)(?:L|\.0D)?)?"
    r"(?: COMMENT '(?P<comment>\w+)')?,?(?:  -- (?P<note>.*))?"
)
_NOTE = re.compile(r"(?:id (?P<ids>[-\d| ]+))?(?:(?:, )?was (?P<was>\w+))?(?P<new>(?:, )?new)?")


def text_of(line: Line, note: str) -> str:
    key = " NOT NULL" if line.name == KEY else ""
    default = "" if line.default is None else f" DEFAULT {line.default}"
    comment = f" COMMENT '{line.comment}'" if line.comment else ""
    shown = f"  -- {note}" if note else ""
    return f"  {line.name} {line.type}{key}{default}{comment},{shown}\n"


@dataclass
class Item:
    """A line of the text, with its comment as it stands there."""

    line: Line
    note: str


class Text:
    """The text of the file, as a person edits it."""

    def __init__(self, text: str) -> None:
        self.head, _, rest = text.partition("CREATE TABLE db.t (\n")
        body, _, tail = rest.partition("  PRIMARY KEY (k)\n")
        self.items = []
        for line in body.splitlines():
            found = _LINE.fullmatch(line)
            assert found is not None, text
            default = found["default"]
            parsed = Line(
                found["name"],
                found["type"],
                found["comment"] or "",
                None if default is None else int(default),
            )
            self.items.append(Item(parsed, found["note"] or ""))
        self.properties = dict(re.findall(r"'([\w.]+)' = '(\w+)'", tail))

    def item(self, name: str) -> Item:
        return next(one for one in self.items if one.line.name == name)

    def dump(self) -> str:
        body = "".join(text_of(one.line, one.note) for one in self.items)
        pairs = ", ".join(f"'{key}' = '{value}'" for key, value in self.properties.items())
        shown = f"\nTBLPROPERTIES ({pairs})" if pairs else ""
        return (
            f"{self.head}CREATE TABLE db.t (\n{body}  PRIMARY KEY (k)\n)\nUSING versioned{shown};\n"
        )


class History:
    """Two warehouses with a table of the same name, one file for both, and the model of all that."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = Random(f"schema files {seed}")
        self.folder = folder / f"history-{seed}"
        self.file = self.folder / "db/t.sql"
        self.uid = 0
        self.warehouses = {name: f"memory://{uuid4()}" for name in ENVIRONMENTS}
        self.tables: dict[str, naive.Table] = {}
        self.model = File()
        self.ids: dict[tuple[str, int], int] = {}
        self.plans: list[tuple[str, Path, File, naive.Plan, int, dict[str, str], str]] = []
        self.log: list[str] = []
        self.done: set[str] = set()
        for environment in ENVIRONMENTS:
            catalog = self.catalog(environment)
            catalog.create_namespace("db")
            self.create(environment, catalog.create_table)
        self.write(self.rng.choice(ENVIRONMENTS))
        self.check()

    def catalog(self, environment: str) -> Catalog:
        return Catalog(self.warehouses[environment])

    def real(self, environment: str) -> RealTable:
        return self.catalog(environment).load_table("db.t")

    def new_uid(self) -> int:
        self.uid += 1
        return self.uid

    def create(self, environment: str, create: Callable[..., RealTable]) -> None:
        names = [KEY, *self.rng.sample(NAMES, 2)]
        self.rng.shuffle(names)
        columns = [
            naive.Column(self.new_uid(), name, "INT" if name == KEY else self.rng.choice(TYPES))
            for name in names
        ]
        ddl = ", ".join(f"{one.name} {one.type}" for one in columns)
        table = create("db.t", ddl, primary_key=[KEY])
        self.tables[environment] = naive.Table(table.state.table_uuid, columns)
        for view in self.catalog(environment).list_views("db"):
            self.catalog(environment).drop_view(f"db.{view}")

    # What is done

    def step(self) -> None:
        acts = [
            *[self.edit] * 8, *[self.apply] * 6, *[self.drift] * 4, self.insert, self.insert, self.see,
            self.see, self.save_plan, self.save_plan, self.apply_saved, self.apply_saved, self.race,
            self.view, self.accept, self.revert, self.replace_table,
        ]  # fmt: skip
        act = self.rng.choice(acts)
        self.log.append(act.__name__)
        act()
        self.check()

    def edit(self) -> None:
        """Edit the file by hand."""
        text, before = Text(self.file.read_text()), deepcopy(self.model)
        item = self.rng.choice([one for one in text.items if one.line.name != KEY] or text.items)
        line = self.model.line(item.line.name)
        taken = {one.line.name for one in text.items}
        free = [name for name in NAMES if name not in taken]
        kind = self.rng.choice(
            ["rename", "rename", "add", "add", "remove", "again", "lose", "was", "widen", "widen",
             "retype", "move", "comment", "property", "property"]
        )  # fmt: skip
        self.log.append(f"  {kind} {line.name}")
        is_key = line.name == KEY
        match kind:
            case "rename" if free:
                item.line.name = line.name = self.rng.choice(free)
                if is_key:
                    self.model = before
                    return
            case "add" if free:
                added = Line(self.rng.choice(free), self.rng.choice(TYPES))
                if added.type in ("INT", "BIGINT") and self.rng.random() < 0.5:
                    added.default = self.rng.randrange(9)
                place = self.rng.randrange(len(text.items) + 1)
                text.items.insert(place, Item(replace(added), ""))
                self.model.lines.insert(place, added)
            case "remove" if not is_key:
                text.items.remove(item)
                self.model.lines.remove(line)
            case "again" if not is_key:
                item.note, line.ids, line.was, line.new = "new", {}, None, True
                item.line.type = line.type = self.rng.choice(TYPES)
                item.line.default = line.default = None
            case "lose" if not is_key:
                item.note, line.ids, line.was, line.new = "", {}, None, False
            case "was" if free and not is_key:
                item.note, line.ids, line.was, line.new = f"was {line.name}", {}, line.name, False
                item.line.name = line.name = self.rng.choice(free)
            case "widen" if line.type in WIDER and not is_key:
                item.line.type = line.type = self.rng.choice(["BIGINT", "DOUBLE"])
            case "retype" if not is_key and line.default is None:
                item.line.type = line.type = self.rng.choice(TYPES)
            case "move":
                text.items.remove(item)
                self.model.lines.remove(line)
                place = self.rng.randrange(len(text.items) + 1)
                text.items.insert(place, item)
                self.model.lines.insert(place, line)
            case "comment":
                item.line.comment = line.comment = self.rng.choice(["", "x", "y"])
            case "property":
                key, value = self.rng.choice(["p.a", "p.b"]), self.rng.choice(["1", "2", ""])
                for properties in (text.properties, self.model.properties):
                    properties.pop(key, None)
                    if value:
                        properties[key] = value
            case _:
                return
        self.done.add(kind)
        self.file.write_text(text.dump())

    def insert(self) -> None:
        """Write rows, whose values say in which column they are."""
        environment = self.rng.choice(ENVIRONMENTS)
        table = self.tables[environment]
        number = len(table.rows)
        row: dict[int, object] = {}
        values = {}
        for one in table.columns:
            value: Any = number if one.name == KEY else one.uid * 100 + number % 100
            if one.type == "STRING":
                value = f"v{value}"
            row[one.uid] = value
            values[one.name] = pa.array([value], ARROW[one.type])
        self.real(environment).upsert(pa.table(values))
        table.rows.append(row)

    def drift(self) -> None:
        """Let somebody else alter a table."""
        environment = self.rng.choice(ENVIRONMENTS)
        table, alter = self.tables[environment], self.real(environment).alter()
        others = [one for one in table.columns if one.name != KEY]
        free = [name for name in NAMES if table.named(name) is None]
        kind = self.rng.choice(["rename", "add", "drop", "again", "widen", "property", "property"])
        self.log.append(f"  {environment} {kind}")
        before = deepcopy(table.columns)
        match kind:
            case "rename" if others and free:
                one, name = self.rng.choice(others), self.rng.choice(free)
                alter.rename_column(one.name, name).commit()
                one.name = name
            case "add" if free:
                one = naive.Column(self.new_uid(), self.rng.choice(free), self.rng.choice(TYPES))
                alter.add_column(one.name, one.type).commit()
                table.columns.append(one)
            case "drop" if others:
                one = self.rng.choice(others)
                alter.drop_column(one.name).commit()
                table.columns.remove(one)
            case "again" if others:
                one = self.rng.choice(others)
                added = naive.Column(self.new_uid(), one.name, self.rng.choice(TYPES))
                alter.drop_column(one.name).add_column(added.name, added.type).commit()
                table.columns.remove(one)
                table.columns.append(added)
            case "widen" if [one for one in others if one.type == "INT"]:
                one = self.rng.choice([one for one in others if one.type == "INT"])
                one.type = self.rng.choice(["BIGINT", "DOUBLE"])
                alter.change_type(one.name, one.type).commit()
            case "property":
                key, value = self.rng.choice(["p.a", "p.b", "p.c"]), self.rng.choice(["1", "2"])
                if table.properties.get(key) == value:
                    alter.unset_property(key).commit()
                    del table.properties[key]
                else:
                    alter.set_property(key, value).commit()
                    table.properties[key] = value
            case _:
                return
        table.changes += before != table.columns

    def view(self) -> None:
        """Create a view of a column."""
        environment = self.rng.choice(ENVIRONMENTS)
        table = self.tables[environment]
        one, name = self.rng.choice(table.columns), f"v{len(table.views)}"
        self.catalog(environment).create_view(
            f"db.{name}", f"SELECT {one.name} FROM t", f"x {one.type}", reads={"db.t": [one.name]}
        )
        table.views[name] = (one.uid, one.name)

    def replace_table(self) -> None:
        """Replace a table: another UUID, and other columns."""
        if self.rng.random() < 0.4:
            environment = self.rng.choice(ENVIRONMENTS)
            self.create(environment, self.catalog(environment).replace_table)

    def accept(self) -> None:
        """Accept what others altered, and lose edits that are not applied."""
        self.write(self.rng.choice(ENVIRONMENTS))

    def revert(self) -> None:
        """Go back to an earlier text of the file, as git does."""
        if self.plans:
            _, _, model, _, _, _, text = self.rng.choice(self.plans)
            self.model = deepcopy(model)
            self.file.write_text(text)

    def write(self, environment: str) -> None:
        write(self.file, self.real(environment))
        naive.write(self.model, self.tables[environment])

    # Plans

    def allowed(self, table: naive.Table) -> list[str]:
        return [one.name for one in table.columns if one.name != KEY and self.rng.random() < 0.6]

    def planned(
        self, environment: str, allowed: list[str], file: Path | None = None
    ) -> tuple[FilePlan, naive.Plan] | None:
        """The plan, which must be as the model has it; None if both refuse it."""
        table, source = self.tables[environment], file or self.file
        try:
            expected = naive.plan(self.model, table, set(allowed))
        except Refused as refused:
            with pytest.raises((InvalidRequestError, NotFoundError)):
                plan_files(source, self.catalog(environment), allowed)
            self.log.append(f"  refused: {refused}")
            self.done.add("refused")
            return None
        (one,) = plan_files(source, self.catalog(environment), allowed)
        plan = one.plan
        assert set(plan.refused) == expected.refused
        assert plan.is_empty == expected.is_empty
        kinds = [change.kind for change in plan.changes]
        assert kinds.count("drop") == len(expected.dropped)
        assert kinds.count("add") == sum(column is None for _, column in expected.pairs)
        assert bool(plan.notes) == expected.by_name
        assert {
            re.findall(r"the view db\.(\w+) ", text)[0] for text in plan.views
        } == expected.broken
        columns, properties = table.others_changed()
        about = [sql for sql in plan.drift if "TBLPROPERTIES" in sql]
        assert (len(plan.drift) > len(about), len(about)) == (columns, properties)
        self.done |= {"broken"} if expected.broken else set()
        self.done |= {"by name"} if expected.by_name else set()
        return one, expected

    def see(self) -> None:
        environment = self.rng.choice(ENVIRONMENTS)
        self.planned(environment, self.allowed(self.tables[environment]))

    def apply(self) -> None:
        environment = self.rng.choice(ENVIRONMENTS)
        planned = self.planned(environment, self.allowed(self.tables[environment]))
        if planned is not None:
            self.carry_out(environment, *planned, deepcopy(self.model), write=True)

    def carry_out(
        self, environment: str, one: FilePlan, expected: naive.Plan, file: File, *, write: bool
    ) -> None:
        self.log.append(f"  in {environment}")
        if expected.refused:
            with pytest.raises(InvalidRequestError, match="allow it by name"):
                apply_file(one, self.catalog(environment))
            return
        done = apply_file(one, self.catalog(environment))
        assert done.written == write
        table = self.tables[environment]
        self.uid += naive.apply(expected, file, table, self.uid + 1)
        self.done.add("applied")
        if write:
            naive.write(self.model, table)

    def save_plan(self) -> None:
        """Write a plan to a file, to apply it later."""
        environment = self.rng.choice(ENVIRONMENTS)
        planned = self.planned(environment, self.allowed(self.tables[environment]))
        if planned is None:
            return
        path = self.folder / f"plan-{len(self.plans)}.json"
        path.write_text(json.dumps({"plans": [planned[0].to_json()]}))
        table = self.tables[environment]
        state = (table.changes, dict(table.properties))
        about = (environment, path, deepcopy(self.model), planned[1])
        self.plans.append((*about, *state, self.file.read_text()))

    def apply_saved(self) -> None:
        """Apply a plan that was written before: whole, or not at all if the table was altered since."""
        if not self.plans:
            return
        environment, path, file, expected, changes, properties, text = self.rng.choice(self.plans)
        table, same = self.tables[environment], self.file.read_text() == text
        uuids = {one.uid for one in table.columns}
        is_stale = (changes, properties) != (table.changes, table.properties) or any(
            column is not None and column.uid not in uuids for _, column in expected.pairs
        )
        if is_stale:
            before = self.file.read_text()
            with pytest.raises((CommitConflictError, InvalidRequestError, NotFoundError)):
                read_plans(path, self.catalog(environment))
            assert self.file.read_text() == before
            self.done.add("stale")
            return
        again = naive.plan(file, table, {*expected_allowed(path)})
        (one,) = read_plans(path, self.catalog(environment))
        self.carry_out(environment, one, again, file, write=same)
        self.done.add("same" if same else "edited")

    def race(self) -> None:
        """Apply two plans for one table at once: one of them is carried out."""
        environment = self.rng.choice(ENVIRONMENTS)
        table, model = self.tables[environment], self.model
        other = self.folder / "other/t.sql"
        text = Text(self.file.read_text())
        text.properties["p.race"] = str(self.rng.randrange(100))
        second = deepcopy(model)
        second.properties["p.race"] = text.properties["p.race"]
        allowed = [one.name for one in table.columns if one.name != KEY]
        other.parent.mkdir(exist_ok=True)
        other.write_text(text.dump())
        plans = []
        for file, path in ((model, self.file), (second, other)):
            self.model = file
            found = self.planned(environment, allowed, path)
            self.model = model
            if found is None or found[1].is_empty or found[1].refused:
                other.unlink()
                return
            plans.append((file, *found))

        def carry_out(one: FilePlan) -> VersionedError | None:
            try:
                apply_file(one, self.catalog(environment))
            except VersionedError as error:
                return error
            return None

        with ThreadPoolExecutor(2) as pool:
            errors = list(pool.map(carry_out, [one for _, one, _ in plans]))
        (lost,) = [error for error in errors if error is not None]
        assert isinstance(lost, CommitConflictError), lost
        winner = errors.index(None)
        file, _, expected = plans[winner]
        self.uid += naive.apply(expected, deepcopy(file), table, self.uid + 1)
        if winner == 0:
            naive.write(self.model, table)
        other.unlink()
        self.done.add("race")

    # What must hold

    def check(self) -> None:
        for environment, table in self.tables.items():
            real = self.real(environment)
            rows = real.scan().to_arrow().sort_by(KEY).to_pylist()
            assert [list(row.items()) for row in rows] == [
                list(row.items()) for row in table.shown()
            ]
            assert [
                (one.name, str(real.schema.get((one.name,)).comment or "")) for one in table.columns
            ] == [(one.name, one.comment) for one in table.columns]
            assert [one.name for one in real.schema.columns] == [one.name for one in table.columns]
            shown = {k: v for k, v in real.properties.items() if k.startswith("p.")}
            assert shown == table.properties
            for stored, one in zip(real.schema.columns, table.columns, strict=True):
                assert self.ids.setdefault((table.uuid, one.uid), stored.id) == stored.id
        used = [(uuid, number) for (uuid, _), number in self.ids.items()]
        assert len(used) == len(set(used)), "an ID was given again"
        self.check_file()

    def check_file(self) -> None:
        """The text says what the model has it say: by the IDs that the tables really gave."""
        text = Text(self.file.read_text())
        tables = re.findall(r"-- table ([\w-]{36})", text.head)
        assert tables == self.model.tables
        assert text.properties == self.model.properties
        for item, line in zip(text.items, self.model.lines, strict=True):
            shown = (item.line.name, item.line.type, item.line.comment, item.line.default)
            assert shown == (line.name, line.type, line.comment, line.default)
            note = _NOTE.fullmatch(item.note)
            assert note is not None, item.note
            groups = [one.strip() for one in (note["ids"] or "").split("|")]
            every = groups * len(tables) if len(groups) == 1 else groups
            ids = {
                uuid: int(one)
                for uuid, one in zip(tables, every, strict=True)
                if one not in ("", "-")
            }
            assert ids == {uuid: self.ids[uuid, uid] for uuid, uid in line.ids.items()}
            assert (note["was"], bool(note["new"])) == (line.was, line.new)


def expected_allowed(path: Path) -> list[str]:
    (plan,) = json.loads(path.read_text())["plans"]
    return list(plan["allow_drop"])


def run(folder: Path, seed: int) -> set[str]:
    history = History(folder, seed)
    for step in range(STEPS):
        try:
            history.step()
        except BaseException as error:
            text = history.file.read_text()
            done = "\n".join(history.log)
            raise AssertionError(f"seed {seed}, step {step}: {error!r}\n{done}\n{text}") from error
    return history.done


@pytest.mark.thorough
def test_files_and_tables_are_as_the_model_has_them(tmp_path: Path) -> None:
    for seed in range(first_seed(), first_seed() + 3):
        run(tmp_path, seed)


@pytest.mark.nightly
def test_every_kind_of_step_happens_in_some_history(tmp_path: Path) -> None:
    done = set[str]().union(*(run(tmp_path, seed) for seed in range(100, 160)))
    assert done >= {
        "rename", "add", "remove", "again", "lose", "was", "widen", "retype", "move", "comment",
        "property", "refused", "broken", "by name", "applied", "stale", "same", "edited", "race",
    }  # fmt: skip


@pytest.mark.nightly
def test_hundreds_of_histories(tmp_path: Path) -> None:
    for seed in range(first_seed() + 1000, first_seed() + 1500):
        run(tmp_path, seed)
