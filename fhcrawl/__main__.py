"""The command `fhcrawl`: runs the commands of fhcrawl in any folder, without Scrapy's own."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from configparser import ConfigParser
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fhcrawl.utils import interrupts

# These imports take most of the time of short commands. Scrapy, which takes longer, is imported where needed.
try:
    import shtab

    from fhcrawl import __version__
    from fhcrawl.core import MODULES, SUMMARIES
    from fhcrawl.exceptions import ArgumentError
    from fhcrawl.utils.datadir import data_dir, is_source, user_config_file, user_data_dir
    from fhcrawl.utils.text import PrintableFormatter, nearest, printable
except KeyboardInterrupt:
    interrupts.end()

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scrapy.settings import Settings

    from fhcrawl.core.command import Command

# Settings modules that do not set the location of the store, and environment variables that may set it.
PLACELESS = {"fhcrawl.settings", "pipelines_config.embedded"}
PLACING = ("FHCRAWL_DATA_DIR", "FHCRAWL_STORE_URL", "SCRAPY_PROJECT", "SCRAPY_SETTINGS_MODULE")
DESCRIPTION = "Crawl the complete history of web feeds, and know whether anything is missing."
COMPLETION = "--print-completion"
# Commands that print the location of the store.
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

    :param arguments: the command line without the program; None for that of this process
    """
    try:
        _main(arguments)
    except KeyboardInterrupt:
        interrupts.end()


def _main(arguments: Sequence[str] | None) -> None:
    # Whoever started this process may have closed it.
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and not arguments[0].startswith("-") and arguments[0] not in SUMMARIES:
        build_parser({}).error(_no_command(arguments[0]))
    # A script for a shell contains the options of all commands; its option may be shortened.
    option_names = [word.partition("=")[0] for word in arguments if word.startswith("--p")]
    names = SUMMARIES if any(map(COMPLETION.startswith, option_names)) else SUMMARIES.keys() & {*arguments}
    if not names:
        _run_without_command(arguments)
        return
    from scrapy.utils.project import inside_project

    from fhcrawl.core import checks

    try:
        settings = read_settings()
    except ArgumentError as error:
        build_parser({}).error(str(error))
    commands = load_commands(settings, names)
    opts, unknown = build_parser(commands).parse_known_args(arguments)
    opts.operands += unknown
    command = commands[opts.command]
    try:
        command.config = _read_config(settings, opts.config)
        checks.check_assigned(opts.set, inside_project())
    except ArgumentError as error:
        opts.parser.error(str(error))
    _run(command, opts, settings)


def _run_without_command(arguments: Sequence[str]) -> None:
    parser = build_parser({})
    _opts, unknown = parser.parse_known_args(arguments)
    if unknown:
        from fhcrawl.core.command import no_option

        parser.error(no_option(unknown, parser, "fhcrawl"))
    parser.print_help()


def _no_command(word: str) -> str:
    if "://" in word:
        return f"A command is required: fhcrawl crawl {printable(word)}"
    near = nearest(word, SUMMARIES)
    guess = f"did you mean {near}? " if near else ""
    return f"There is no command {printable(word)}; {guess}`fhcrawl --help` lists all commands"


def _run(command: Command, opts: argparse.Namespace, settings: Settings) -> None:
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.exceptions import UsageError

    from fhcrawl.core import checks

    is_quiet = getattr(opts, "quiet", False)
    settings.setdict(command.default_settings, priority="command")
    if opts.command in WRITING and not is_quiet and sys.stderr.isatty():
        print(f"The store is in {_store_place(settings)}", file=sys.stderr)
    if getattr(opts, "verbose", False) and not opts.loglevel:
        opts.loglevel = "INFO"
    operands = ["history", *opts.operands] if opts.command == "crawl" else opts.operands
    try:
        command.process_options(operands, opts)
        if command.requires_crawler_process:
            if (settings.getpriority("LOG_LEVEL") or 0) < checks.CONFIG_PRIORITY:
                be_quiet(settings, logging.ERROR if is_quiet else logging.NOTSET)
            command.crawler_process = AsyncCrawlerProcess(settings)
        command.run(operands, opts)
    except UsageError as error:
        opts.parser.error(str(error))
    interrupts.leave(command.exitcode)


# Outside of projects that use fhcrawl, the data is in the user's data directory.
def read_settings() -> Settings:
    from scrapy.settings import Settings
    from scrapy.utils.project import get_project_settings, inside_project

    from fhcrawl.core.addons import add_environment, is_missing

    if inside_project():
        try:
            settings = get_project_settings()
            if not is_missing(settings):
                add_environment(settings)
                return settings
        except Exception as error:  # code of the project's, which could be fhcrawl's, with other data
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


def _read_config(settings: Settings, file: str | None = None) -> Path | None:
    from scrapy.utils.project import inside_project

    from fhcrawl.core.checks import read_config

    if file:
        return read_config(settings, Path(file))
    return None if inside_project() else read_config(settings, user_config_file(), may_be_missing=True)


def _store_place(settings: Settings) -> str:
    if settings["FHCRAWL_STORE_URL"]:
        return "the database of FHCRAWL_STORE_URL"
    try:
        return printable(str(data_dir(settings)))
    except ArgumentError:
        return "FHCRAWL_DATA_DIR"


# Does not import Scrapy; '' if settings may set another location.
def _default_store_place() -> str:
    here = Path.cwd()
    project = next((folder for folder in (here, *here.parents) if (folder / "scrapy.cfg").exists()), None)
    if project is None:
        is_default = not user_config_file().exists()
    else:
        config = ConfigParser()
        config.read(project / "scrapy.cfg")
        is_default = is_source(project) and config.get("settings", "default", fallback="") in PLACELESS
    is_default = is_default and not any(map(os.environ.get, PLACING))
    return printable(str(user_data_dir())) if is_default else ""


# The help shows the location of the store; the parser may read settings to find it.
class Parser(argparse.ArgumentParser):
    def format_help(self) -> str:
        try:
            place = _default_store_place()
            if not place:
                settings = read_settings()
                with suppress(ArgumentError):
                    _read_config(settings)
                place = _store_place(settings)
        except ArgumentError as error:
            self.error(str(error))
        self.epilog = EPILOG.format(place=place)
        return super().format_help()


def load_commands(settings: Settings, names: Iterable[str] = SUMMARIES) -> dict[str, Command]:
    commands = {}
    for name in names:
        command: Command = import_module(f"fhcrawl.commands.{MODULES.get(name, name)}").Command()
        command.settings = settings
        commands[name] = command
    return commands


def build_parser(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    parser = Parser(
        "fhcrawl",
        usage="fhcrawl COMMAND …",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fhcrawl {__version__}")
    shtab.add_argument_to(parser, COMPLETION, help="print a completion script for a shell")
    parser_class: type[argparse.ArgumentParser] = argparse.ArgumentParser
    if commands:
        from scrapy.cmdline import ScrapyArgumentParser

        parser_class = ScrapyArgumentParser
    choices = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", parser_class=parser_class
    )
    for name, summary in SUMMARIES.items():
        if name in commands:
            _add_parser(choices, name, commands[name])
        else:
            choices.add_parser(name, help=summary)
    return parser


def _add_parser(
    choices: argparse._SubParsersAction[argparse.ArgumentParser], name: str, command: Command
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
        help="TOML file with settings, instead of config.toml in the user's config folder",
    )
    metavar, words = command.operand or ("", argparse.SUPPRESS)
    parser.add_argument("operands", metavar=metavar, nargs="*", help=words)
    if command.requires_crawler_process:
        parser.add_argument("-v", "--verbose", action="store_true", help="show the log (same as -L INFO)")
    for action in parser._actions:
        if FILES.intersection(action.option_strings):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    parser.set_defaults(parser=parser)


# The log goes to LOG_FILE, if it is set.
def be_quiet(settings: Settings, level: int) -> None:
    from fhcrawl.core import checks

    settings.set("LOG_ENABLED", False, priority="cmdline")
    if (settings.getpriority("FHCRAWL_SUMMARY_ENABLED") or 0) < checks.CONFIG_PRIORITY:
        settings.set("FHCRAWL_SUMMARY_ENABLED", True, priority="cmdline")
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(level)
    handler.setFormatter(PrintableFormatter(logging.Formatter("fhcrawl: %(message)s")))
    handler.addFilter(_is_for_users)
    logging.root.addHandler(handler)


def _is_for_users(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR or bool(vars(record).get("is_for_users"))


if __name__ == "__main__":
    main()
