"""Writes the parts of pages that the code knows, such as settings: `python -m tests.docs.generate`.

The text between `<!-- generated: NAME ARGUMENT … -->` and `<!-- end -->` is what NAME returns.
"""

from __future__ import annotations

import argparse
import re
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.settings import Settings, default_settings

from fhcrawl import __main__, items, settings
from fhcrawl.exporters.rows import PROFILES
from fhcrawl.reasons import ReasonKind
from fhcrawl.validation import CHAIN_RULES, DOCUMENT_RULES
from tests.projects import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOCS = ROOT / "docs"
GENERATED = re.compile(r"^<!-- generated: (\w+)(.*) -->\n(?:(?!<!-- g).*\n)*?<!-- end -->$", re.MULTILINE)
# An item of a list of reasons, up to the advice. Kinds with the same advice can share an item.
ITEM = re.compile(r"^(- (`[a-z0-9-]+`(?:, `[a-z0-9-]+`)*): .+)$", re.MULTILINE)
# The options of Scrapy's that all commands have are described once.
GLOBAL = "Global Options"
# Options with longer lines are described once, even if several commands have them.
SHORT = 45


def parsers() -> dict[str, argparse.ArgumentParser]:
    parser = __main__.build_parser(__main__.load_commands(_settings()))
    [commands] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(commands.choices)


def _settings() -> Settings:
    found = Settings()
    found.setmodule(settings)
    return found


def generated(text: str) -> str:
    """Return the Markdown of a page with its generated parts as they should be."""

    def block(found: re.Match[str]) -> str:
        begin, _, rest = found[0].partition("\n")
        arguments = [rest] if found[1] == "advice" else found[2].split()
        return f"{begin}\n\n{GENERATORS[found[1]](*arguments)}\n\n<!-- end -->"

    return GENERATED.sub(block, text)


# -- commands -------------------------------------------------------------------------------------


def commands() -> str:
    text = "\n\n".join(_command(name, parser) for name, parser in parsers().items())
    options = [line for line in text.splitlines() if line.startswith("- `-") and len(line) > SHORT]
    for option in {line for line in options if options.count(line) > 1}:
        first, *others = text.split(option)
        text = first + option + f"{option.partition(': ')[0]}: see above".join(others)
    return re.sub(r": see above\n- (?=.+: see above$)", ", ", text, flags=re.MULTILINE)


def global_options() -> str:
    parser = next(iter(parsers().values()))
    [group] = [group for group in parser._action_groups if group.title == GLOBAL]
    return "\n".join(_option(action) for action in group._group_actions)


def _command(name: str, parser: argparse.ArgumentParser) -> str:
    usage = " ".join(parser.format_usage().split()).removeprefix("Usage ===== ").removeprefix("usage: ")
    groups = [group for group in parser._action_groups if group.title != GLOBAL]
    actions = [action for group in groups for action in group._group_actions if action.dest != "help"]
    options = [_option(action) for action in actions if action.help is not argparse.SUPPRESS]
    description = (parser.description or "").partition("\n\nExamples:")[0]
    parts = [f"## fhcrawl {name}", f"`{usage}`", _prose(description)]
    return "\n\n".join(part for part in [*parts, "\n".join(options), _prose(parser.epilog or "")] if part)


def _option(action: argparse.Action) -> str:
    value = action.metavar or (action.dest.upper() if action.nargs != 0 else "")
    value = " ".join(value) if isinstance(value, tuple) else value
    names = [f"`{name} {value}`".replace(" `", "`") for name in action.option_strings] or [f"`{value}`"]
    help_text = (action.help or "") % {**vars(action), "prog": "fhcrawl"}
    return f"- {', '.join(names)}: {_escaped(' '.join(help_text.split()))}"


def _prose(text: str) -> str:
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        for is_code, lines in _runs(block.splitlines()):
            if is_code:
                blocks.append("\n".join(["```text", *cleandoc("\n".join(["", *lines])).splitlines(), "```"]))
            else:
                blocks.append(_escaped("\n".join(lines)))
    return "\n\n".join(blocks)


def _runs(lines: list[str]) -> Iterator[tuple[bool, list[str]]]:
    run: list[str] = []
    for line in lines:
        if run and run[0].startswith(" ") != line.startswith(" "):
            yield run[0].startswith(" "), run
            run = []
        run.append(line)
    if run:
        yield run[0].startswith(" "), run


def _escaped(text: str) -> str:
    plain = re.sub(r"([*<>\[\]])", r"\\\1", text)
    return re.sub(r"(?<![\w`-])(--?[a-zA-Z][a-z-]*|[A-Z]+_[A-Z_]+)", r"`\1`", plain)


# -- settings -------------------------------------------------------------------------------------


def described(path: Path) -> dict[str, str]:
    comments: dict[str, str] = {}
    lines: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("# "):
            lines.append(line[2:])
            continue
        if assignment := re.match(r"([A-Z][A-Z0-9_]*)(: [^=]+)? = ", line):
            comments[assignment[1]] = "\n".join(lines)
        lines = []
    return comments


def ours(*names: str) -> str:
    comments = described(Path(settings.__file__ or ""))
    return "\n\n".join(f"### {name}\n\n{_default(name, comments[name])}{comments[name]}" for name in names)


def _default(name: str, comment: str) -> str:
    return "" if " Default: " in comment else f"`{getattr(settings, name)!r}`\n\n"


def scrapys(*names: str) -> str:
    """Return the sections of these settings, and a list of the others that are changed."""
    comments = described(Path(settings.__file__ or ""))
    found = {name: (_shown(value), _shown(default)) for name, value, default in changed()}
    sections = [
        f"### {name}\n\n`{found[name][0]}` (Scrapy: `{found[name][1]}`)\n\n{_reason(comments[name])}"
        for name in names
    ]
    rows = [
        f"- `{name}`: `{value}`. {_reason(' '.join(comments[name].split()))}"
        for name, (value, _default) in found.items()
        if name not in names
    ]
    return "\n\n".join([*sections, "### Others", "\n".join(rows)])


def changed() -> Iterator[tuple[str, Any, Any]]:
    """Yield name, value and Scrapy's default of each setting that is changed and has a comment."""
    for name, comment in described(Path(settings.__file__ or "")).items():
        value, default = getattr(settings, name), getattr(default_settings, name, None)
        if hasattr(default_settings, name) and comment and not isinstance(value, dict | list):
            yield name, value, default


def _shown(value: object) -> str:
    shown = f"{value.__module__}.{value.__qualname__}" if isinstance(value, type) else str(value)
    return shown.replace(f"Scrapy/{scrapy.__version__}", "Scrapy/VERSION")


def _reason(comment: str) -> str:
    reason = re.sub(r"^[^:]*: ", "", comment, count=1)
    return reason[0].upper() + reason[1:]


# -- entries and reasons --------------------------------------------------------------------------


def fields() -> str:
    return _described_fields(items.FIELDS)


def optional_fields() -> str:
    return _described_fields([*items.OPTIONAL_FIELDS, *items.COMPUTED_FIELDS])


def profile(name: str) -> str:
    return "\n".join(
        f"- `{column}`: {about.text}, from {', '.join(f'`{path}`' for path in about.paths.split())}"
        for column, about in PROFILES[name].items()
    )


def _described_fields(names: list[str]) -> str:
    text = cleandoc(items.EntryItem.__doc__ or "")
    found = re.findall(r":param (\w+): (.+?)(?=\n:|\n\n|\Z)", text, re.DOTALL)
    return "\n".join(f"- `{name}`: {' '.join(text.split())}" for name, text in found if name in names)


def advice(text: str) -> str:
    """Return the list of reasons with the advice for each, in italics."""
    found_items = []
    for item, kinds in ITEM.findall(text):
        [found] = {ReasonKind(kind).advice for kind in re.findall(r"`(.+?)`", kinds)}
        found_items.append(f"{item}\n  *{_sentences(found)}*")
    return "\n".join(found_items)


def _sentences(text: str) -> str:
    escaped = _escaped(text)
    return f"{escaped[0].upper()}{escaped[1:]}."


# -- rules of the check ---------------------------------------------------------------------------


def checks() -> str:
    return "\n".join(f"- `{rule.name}`: {rule.summary}" for rule in (*DOCUMENT_RULES, *CHAIN_RULES))


# -- files ----------------------------------------------------------------------------------------


def python(path: str) -> str:
    return f"```python\n{(DOCS / path).read_text('utf-8').strip()}\n```"


GENERATORS: dict[str, Callable[..., str]] = {
    "advice": advice,
    "checks": checks,
    "commands": commands,
    "fields": fields,
    "global_options": global_options,
    "optional_fields": optional_fields,
    "profile": profile,
    "python": python,
    "scrapy_settings": scrapys,
    "settings": ours,
}


if __name__ == "__main__":
    for path in DOCS.rglob("*.md"):
        path.write_text(generated(path.read_text("utf-8")), "utf-8")
