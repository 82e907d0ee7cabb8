"""The command `fhcrawl`: runs the commands of fhcrawl in any folder, without Scrapy's own."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fhcrawl.utils import interrupts

# Most of the time of short commands.
try:
    import shtab
    from scrapy.cmdline import ScrapyArgumentParser
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.exceptions import UsageError
    from scrapy.settings import Settings
    from scrapy.utils.project import get_project_settings, inside_project

    from fhcrawl import __version__
    from fhcrawl.core import config
    from fhcrawl.core.addons import add_environment, is_missing
    from fhcrawl.core.command import no_option
    from fhcrawl.exceptions import ArgumentError
    from fhcrawl.utils.datadir import data_dir, user_data_dir
    from fhcrawl.utils.text import PrintableFormatter, nearest, printable
except KeyboardInterrupt:
    interrupts.end()

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fhcrawl.core.command import Command

# Their modules, in the order of the help.
COMMANDS = (
    "crawl",
    "feeds",
    "export",
    "report",
    "history",
    "download",
    "subscribe",
    "unsubscribe",
    "enqueue",
    "copystore",
    "checkhistory",
    "showsettings",
    "demo",
)
COMMANDS_MODULE = "fhcrawl.commands"
DESCRIPTION = "Crawl the complete history of web feeds, and know whether anything is missing."
# Commands that say where the store is.
WRITING = {"crawl", "subscribe"}
EPILOG = """\
The store is in {place}

To get started:
  fhcrawl demo
  fhcrawl crawl https://example.org/index.atom -o entries.jsonl

'fhcrawl COMMAND --help' shows the options of a command, and examples."""
FILES = {"--config", "--feeds", "--warc", "--output", "--overwrite-output", "--logfile"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command, and exit with its exit code: 2 if an argument or a setting is wrong, 130 after Ctrl-C.

    :param arguments: the command line without the program; None: this process's
    """
    try:
        _main(arguments)
    except KeyboardInterrupt:
        interrupts.end()


def _main(arguments: Sequence[str] | None) -> None:
    # Whoever started this process may have closed it.
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    try:
        settings = read_settings()
    except ArgumentError as error:
        build_parser({}).error(str(error))
    own = None if inside_project() else config.user_file()
    file, fault = (None, "") if own is None else config.read(settings, own, may_be_missing=True)
    commands = load_commands(settings)
    parser = build_parser(commands)
    parser.epilog = EPILOG.format(place=_place(settings))
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and not arguments[0].startswith("-") and arguments[0] not in commands:
        parser.error(_no_command(arguments[0], commands))
    opts, unknown = parser.parse_known_args(arguments)
    if opts.command is None:
        if unknown:
            parser.error(no_option(unknown, parser, "fhcrawl"))
        parser.print_help()
        return
    opts.operands += unknown
    command = commands[opts.command]
    if opts.config:
        settings = command.settings = read_settings()
        file, fault = config.read(settings, Path(opts.config))
    # In a project, components of its own may have settings with similar names.
    fault = fault or ("" if own is None else config.fault_of(opts.set))
    if fault:
        opts.parser.error(fault)
    command.config = file
    _start(command, opts, settings)


def _no_command(word: str, commands: Iterable[str]) -> str:
    if "://" in word:
        return f"A command is required: fhcrawl crawl {printable(word)}"
    near = nearest(word, commands)
    guess = f"did you mean {near}? " if near else ""
    return f"There is no command {printable(word)}; {guess}`fhcrawl --help` lists all commands"


def _start(command: Command, opts: argparse.Namespace, settings: Settings) -> None:
    settings.setdict(command.default_settings, priority="command")
    try:
        if opts.command in WRITING and not getattr(opts, "quiet", False) and sys.stderr.isatty():
            print(f"The store is in {_place(settings)}", file=sys.stderr)
        _run(command, opts, settings)
    except UsageError as error:
        opts.parser.error(str(error))
    interrupts.leave(command.exitcode)


def read_settings() -> Settings:
    """Return the settings of the project that the working directory is in, if it uses fhcrawl.

    In other folders, they are fhcrawl's own, and the data is in the user's data directory.

    :raises ArgumentError: if the project's settings cannot be read: it could be fhcrawl's, with other data
    """
    if inside_project():
        try:
            settings = get_project_settings()
            if not is_missing(settings):
                add_environment(settings)
                return settings
        except Exception as error:  # code of the project's
            cause = " ".join(f"{type(error).__name__}: {error}".split())
            raise ArgumentError(
                "Cannot read the settings of the Scrapy project in this folder (scrapy.cfg): "
                f"{cause}; fix them, or use another folder"
            ) from error
    settings = Settings()
    settings.setmodule("fhcrawl.settings", priority="project")
    add_environment(settings)
    if not settings["FHCRAWL_DATA_DIR"]:
        settings.set("FHCRAWL_DATA_DIR", str(user_data_dir()), priority="project")
    return settings


def _place(settings: Settings) -> str:
    """Return where the store is, for display."""
    if settings["FHCRAWL_STORE_URL"]:
        return "the database of FHCRAWL_STORE_URL"
    try:
        return printable(str(data_dir(settings)))
    except ArgumentError:
        return "FHCRAWL_DATA_DIR"


def load_commands(settings: Settings) -> dict[str, Command]:
    """Return the commands by name."""
    commands = {}
    for name in COMMANDS:
        command: Command = import_module(f"{COMMANDS_MODULE}.{name}").Command()
        command.settings = settings
        commands[command.name or name] = command
    return commands


def build_parser(commands: dict[str, Command]) -> argparse.ArgumentParser:
    """Return the parser of the command line, with a parser for each command."""
    parser = argparse.ArgumentParser(
        "fhcrawl",
        usage="fhcrawl COMMAND …",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fhcrawl {__version__}")
    shtab.add_argument_to(parser, "--print-completion", help="print a completion script for a shell")
    choices = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", parser_class=ScrapyArgumentParser
    )
    for name, command in commands.items():
        _add_parser(choices, name, command)
    return parser


def _add_parser(
    choices: argparse._SubParsersAction[ScrapyArgumentParser], name: str, command: Command
) -> None:
    parser = choices.add_parser(
        name,
        prog=f"fhcrawl {name}",
        usage=f"fhcrawl {name} {command.usage}",
        help=command.summary,
        description=command.long_desc(),
        conflict_handler="resolve",
    )
    command.add_options(parser)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    [options] = [group for group in parser._action_groups if group.title == "Global Options"]
    options.add_argument(
        "--config",
        metavar="FILE",
        help="read the settings of this TOML file, instead of config.toml in the user's config folder",
    )
    metavar, words = command.operand or ("", argparse.SUPPRESS)
    parser.add_argument("operands", metavar=metavar, nargs="*", help=words)
    if command.requires_crawler_process:
        parser.add_argument("-v", "--verbose", action="store_true", help="show the log (same as -L INFO)")
    for action in parser._actions:
        if FILES.intersection(action.option_strings):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    parser.set_defaults(parser=parser)


def _run(command: Command, opts: argparse.Namespace, settings: Settings) -> None:
    """:raises UsageError: if an argument or a setting cannot be used"""
    if getattr(opts, "verbose", False) and not opts.loglevel:
        opts.loglevel = "INFO"
    operands = ["history", *opts.operands] if opts.command == "crawl" else opts.operands
    command.process_options(operands, opts)
    if command.requires_crawler_process:
        if (settings.getpriority("LOG_LEVEL") or 0) < config.PRIORITY:
            be_quiet(settings, logging.ERROR if getattr(opts, "quiet", False) else logging.NOTSET)
        command.crawler_process = AsyncCrawlerProcess(settings)
    command.run(operands, opts)


def be_quiet(settings: Settings, level: int) -> None:
    """Print only errors, records for users and a summary; the log goes to LOG_FILE, if it is set.

    :param level: records below it are not printed
    """
    settings.set("LOG_ENABLED", False, priority="cmdline")
    if (settings.getpriority("FHCRAWL_SUMMARY_ENABLED") or 0) < config.PRIORITY:
        settings.set("FHCRAWL_SUMMARY_ENABLED", True, priority="cmdline")
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(level)
    handler.setFormatter(PrintableFormatter(logging.Formatter("fhcrawl: %(message)s")))
    handler.addFilter(_is_for_users)
    logging.root.addHandler(handler)


def _is_for_users(record: logging.LogRecord) -> bool:
    """Return whether a record is an error, is marked for users, or is Scrapy's answer to the first Ctrl-C."""
    if record.levelno >= logging.ERROR or vars(record).get("is_for_users"):
        return True
    return record.name == "scrapy.crawler" and "gracefully" in str(record.msg)


if __name__ == "__main__":
    main()
