"""The pages of the documentation, and the examples in them."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.projects import ROOT

DOCS = ROOT / "docs"
README = "../README"
PAGES = [README, *sorted(str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md"))]
CONSOLE = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
# What no test runs: code blocks, and indented lines that begin with a command or cron's five fields.
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    (?:\S+ \* \* \* \* )?((?:cd|curl|fhcrawl|scrapy) .*)$", re.MULTILINE)
PROMPT = "$ "


class Example(NamedTuple):
    """A command, and the output that the page shows below it; None if it shows none."""

    command: str
    output: str | None


def source(page: str) -> str:
    return (DOCS / f"{page}.md").read_text("utf-8")


def examples(block: str) -> list[Example]:
    """The commands of a console block, and the output of each."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.splitlines():
        if line.startswith(PROMPT):
            found.append(([line.removeprefix(PROMPT)], []))
        elif found[-1][0][-1].endswith("\\") and not found[-1][1]:
            found[-1][0].append(line)
        else:
            found[-1][1].append(line)
    return [Example("\n".join(command), "\n".join(output) or None) for command, output in found]


def commands(page: str) -> Iterator[list[str]]:
    """The words of each command of fhcrawl in the examples of a page, without redirections and pipes."""
    markdown = source(page)
    lines = [line for block in SHELL.findall(markdown) for line in _joined(block).splitlines()]
    run = [_joined(example.command) for block in CONSOLE.findall(markdown) for example in examples(block)]
    for line in (*lines, *run, *INDENTED.findall(markdown)):
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        words = _without_redirections(list(lexer))
        while words:
            end = next((i for i, word in enumerate(words) if set(word) <= set("|&;")), len(words))
            command, words = words[:end], words[end + 1 :]
            name = next((word for word in command if "=" not in word), "")
            if Path(name).name == "fhcrawl":
                yield command[command.index(name) + 1 :]


def _without_redirections(words: list[str]) -> list[str]:
    into = {i for i, word in enumerate(words) if set(word) <= set("<>")}
    return [word for i, word in enumerate(words) if i not in into and i - 1 not in into]


def _joined(lines: str) -> str:
    return lines.replace("\\\n", " ")
