"""The pages of the site that are generated from the code: API, commands, options, properties."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator

import click

import pyspark_versioned
import versioned_catalog
from pyspark_versioned.option_names import OPTIONS, Option, Use
from pyspark_versioned.sql.neighbour_properties import MEANINGS
from versioned_catalog.cli.main import main
from versioned_catalog.write.properties import PROPERTIES, Property

_CONNECTOR = {
    "configure": "pyspark_versioned.registering.configure",
    "follow": "pyspark_versioned.stream_reader.follow",
    "jar_path": "pyspark_versioned.jar.jar_path",
    "DefaultSource": "pyspark_versioned.source.VersionedDataSource",
}


def pages() -> dict[str, str]:
    """The generated pages: their Markdown by their path in the site."""
    return {
        "reference/index.md": _index_page(),
        **{f"reference/{name.lower()}.md": _class_page(name) for name in _classes()},
        "reference/functions.md": _functions_page(),
        "reference/exceptions.md": _errors_page(),
        "reference/spark.md": _spark_page(),
        "reference/command-line.md": _in_columns(_command_page()),
        "reference/properties.md": _in_columns(_properties_page()),
        "reference/all-options.md": _in_columns(_options_page()),
    }


def _in_columns(text: str) -> str:
    """A page whose tables keep the names in their first column on one line."""
    title, _, rest = text.partition("\n")
    return f'{title}\n\n<div class="names" markdown>\n{rest}\n</div>\n'


def _public(name: str) -> object:
    return getattr(versioned_catalog, name)


def _is_error(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, Exception)


def _classes() -> list[str]:
    return [
        name
        for name in versioned_catalog.__all__
        if isinstance(_public(name), type) and not _is_error(_public(name))
    ]


def _entry(name: str, path: str, level: int = 2) -> str:
    return f"\n::: {path}\n    options:\n      heading: {name}\n      heading_level: {level}\n"


def _path(name: str) -> str:
    thing = _public(name)
    return f"{thing.__module__}.{thing.__qualname__}"  # type: ignore[attr-defined]


def _class_page(name: str) -> str:
    return f"---\ntitle: {name}\n---\n{_entry(name, _path(name), 1)}"


def _index_page() -> str:
    rows = [
        ("[Table properties](properties.md)", "each with its values, default and effect"),
        ("[Options](../options.md)", "of reads and writes; [types and defaults](all-options.md)"),
        ("[Errors](../errors.md)", "conditions, SQLSTATE, and when to retry"),
        ("[The command line](../cli.md)", "with examples; [every command](command-line.md)"),
        ("[Spark API](spark.md)", "the public names of `pyspark_versioned`"),
        ("[Functions](functions.md), [exceptions](exceptions.md)", "of `versioned_catalog`"),
        *((f"[{name}]({name.lower()}.md)", _summary(name)) for name in _classes()),
        ("[Table format](../format.md)", "what is on storage"),
        ("[Protocol of the jar](../protocol.md)", "what the jar and Python send each other"),
    ]
    text = "# Reference\n\n| page | about |\n|---|---|\n"
    return text + "".join(f"| {page} | {about} |\n" for page, about in rows)


def _summary(name: str) -> str:
    """The first line of a class's docstring."""
    return (inspect.getdoc(_public(name)) or "").partition("\n")[0].replace("``", "`")


def _functions_page() -> str:
    names = [n for n in versioned_catalog.__all__ if inspect.isfunction(_public(n))]
    text = "# Functions\n\nFunctions of `versioned_catalog` that belong to no class.\n"
    return text + "".join(_entry(name, _path(name)) for name in names)


def _errors_page() -> str:
    names = [n for n in versioned_catalog.__all__ if _is_error(_public(n))]
    names.sort(key=lambda name: (name != "VersionedError", name))
    text = (
        "# Exceptions\n\nEvery error that this project raises on purpose is a `VersionedError`.\n"
        "[Errors](../errors.md) lists the error conditions and their SQLSTATE, and says when to retry.\n"
    )
    return text + "".join(_entry(name, _path(name)) for name in names)


def _spark_page() -> str:
    names = [name for name in pyspark_versioned.__all__ if name in _CONNECTOR]
    assert {*names, "VersionedError"} == {*pyspark_versioned.__all__}
    text = (
        "# Spark\n\nThe public names of `pyspark_versioned`. Tables are used by SQL and by Spark's own\n"
        "DataFrame API: see [SQL](../sql.md), [the data source](../data-source.md) and\n"
        "[options](../options.md).\n"
    )
    entries = "".join(_entry(name, _CONNECTOR[name]) for name in names)
    return text + entries + _entry("functions", "pyspark_versioned.functions")


def _properties_page() -> str:
    text = (
        "# Table properties\n\n"
        "Every property with a meaning, which CREATE TABLE and ALTER TABLE ... SET TBLPROPERTIES set.\n"
        "[SQL](../sql.md#tables) explains them. All other keys are free for your use, but for those\n"
        "of other formats: a property of Iceberg or Delta that means the same as one of these is kept\n"
        "as it, and the others are refused.\n\n"
        "| property | values | default | scope | effect | since |\n|---|---|---|---|---|---|\n"
    )
    always = sorted(key for key, meaning in MEANINGS.items() if meaning.key is None)
    return (
        text
        + "\n".join(map(_property_row, PROPERTIES))
        + "\n\n## Counterparts\n\n| property | Iceberg | Delta |\n|---|---|---|\n"
        + "\n".join(filter(None, map(_counterparts, PROPERTIES)))
        + "\n\n## Of every table\n\nThese properties of Iceberg and Delta are accepted with a value\n"
        "that holds for every table, and not kept. Any other value is refused.\n\n"
        + "\n".join(f"- `{key}`" for key in always)
        + "\n"
    )


def _property_row(one: Property) -> str:
    default = (
        "—" if one.default is None else one.default if " " in one.default else f"`{one.default}`"
    )
    cells = [f"`{one.key}`", one.type, default, one.scope, one.does, one.since]
    return "| " + " | ".join(cells) + " |"


def _counterparts(one: Property) -> str:
    keys = [key for key, meaning in MEANINGS.items() if meaning.key == one.key]
    iceberg = [key for key in keys if not key.startswith("delta.")]
    delta = [key for key in keys if key.startswith("delta.")]
    return f"| `{one.key}` | {_codes(iceberg)} | {_codes(delta)} |" if keys else ""


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "—"


def _options_page() -> str:
    text = (
        "# Types and defaults of options\n\nEvery option that a read or write honours. "
        "[Options](../options.md) also lists those that are refused, with what to use instead.\n"
    )
    honoured = [o for o in OPTIONS if (o.path or o.named) and o.same_as is None]
    for topic in dict.fromkeys(option.topic for option in honoured):
        text += (
            f"\n## {topic}\n\n"
            "| option | values | default | by path | by name | since |\n|---|---|---|---|---|---|\n"
        )
        text += "".join(_option_row(option) for option in honoured if option.topic == topic)
    text += (
        "\n## Names in Spark, Iceberg and Delta\n\n"
        "| option | Spark | Iceberg | Delta |\n|---|---|---|---|\n"
    )
    return text + "".join(filter(None, map(_option_counterparts, honoured)))


def _option_row(option: Option) -> str:
    scopes = (
        ", ".join(use.value for use in Use if use in uses) or "—"
        for uses in (option.path, option.named)
    )
    cells = [f"`{option.name}`", option.type, option.default or "—", *scopes, option.since]
    return "| " + " | ".join(cells) + " |\n"


def _option_counterparts(option: Option) -> str:
    names = [option, *(o for o in OPTIONS if o.same_as == option.name)]
    cells = [_codes(o.name for o in names if who in o.of) for who in "SID"]
    return f"| `{option.name}` | {' | '.join(cells)} |\n" if {*cells} != {"—"} else ""


def _command_page() -> str:
    text = (
        "# Command reference\n\nEvery command and option of `versioned`, as `--help` prints them.\n"
        "[The command line](../cli.md) explains them with examples.\n\n"
    )
    return text + "\n".join(_command(main, "versioned", None))


def _command(command: click.Command, path: str, parent: click.Context | None) -> Iterator[str]:
    context = command.make_context(path, [], parent, resilient_parsing=True)
    if parent is not None:
        level = "###" if path.count(" ") > 1 else "##"
        yield f"{level} {path}\n"
    yield f"{_paragraphs(command.help or '')}\n"
    usage = command.collect_usage_pieces(context)
    yield f"```\n{' '.join([path, *usage])}\n```\n"
    rows = [record for p in command.params if (record := p.get_help_record(context))]
    if rows:
        yield "| option | meaning |\n|---|---|"
        yield from (f"| `{_cell(option)}` | {_cell(text, escape=True)} |" for option, text in rows)
        yield ""
    if command.epilog:
        yield f"```text\n{command.epilog.replace(chr(8), '').strip()}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _command(below, f"{path} {name}", context)


def _paragraphs(text: str) -> str:
    """A help text as Markdown: what click must not wrap (after a backspace) is shown as it is."""
    blocks = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        f"```text\n{block.strip(chr(8)).strip(chr(10))}\n```"
        if block.startswith(chr(8))
        else _cell(block, escape=True)
        for block in blocks
    )


def _cell(text: str, *, escape: bool = False) -> str:
    plain = " ".join(text.split()).replace("|", "\\|")
    return plain.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_") if escape else plain
