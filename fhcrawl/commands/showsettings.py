"""`fhcrawl settings`: prints the settings, and where each is set."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings

from fhcrawl import settings as ours
from fhcrawl.commands import print_lines
from fhcrawl.core import addons, checks, command
from fhcrawl.utils.addresses import without_credentials
from fhcrawl.utils.datadir import ENVIRONMENT, user_data_dir

if TYPE_CHECKING:
    import argparse


class Command(command.Command):
    usage = "[--json] [options]"
    description = (
        "Print all settings of fhcrawl, and those of Scrapy that fhcrawl or you set, with their values and "
        "sources: default (of fhcrawl), project, config file, environment, or command line."
    )
    examples = ("fhcrawl settings", "fhcrawl settings --json -s FHCRAWL_MAX_PAGES=50 | jq .")
    options: ClassVar[dict[str, dict[str, Any]]] = {"--json": {"action": "store_true", "help": "print JSON"}}

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        checks.check_settings(self.settings)
        lowest_priority = SETTINGS_PRIORITIES["addon"]
        names = {name for name in self.settings if (self.settings.getpriority(name) or 0) >= lowest_priority}
        in_order = sorted(names, key=lambda name: (name not in checks.OURS, name))
        rows = [
            {"name": name, "value": self._shown_value(name), "source": self._source(name)}
            for name in in_order
        ]
        encode = partial(json.dumps, ensure_ascii=False, default=str)
        lines = [f"{row['name']} = {encode(row['value'])}  ({row['source']})" for row in rows]
        print_lines([encode(rows, indent=1)] if opts.json else lines, opts.json)

    def _shown_value(self, name: str) -> Any:
        value = self.settings[name]
        return "***" if name in addons.SECRETS and value else _without_passwords(value)

    def _source(self, name: str) -> str:
        priority, value = self.settings.getpriority(name) or 0, self.settings[name]
        if priority >= SETTINGS_PRIORITIES["cmdline"]:
            return "command line"
        if priority == checks.CONFIG_PRIORITY:
            return f"config file {self.config}"
        if name in ENVIRONMENT and os.environ.get(name):
            return "environment"
        default = vars(ours).get(name, vars(default_settings).get(name))
        is_default = value in (default, str(user_data_dir())) or priority < SETTINGS_PRIORITIES["project"]
        return "default" if is_default else "project"


def _without_passwords(value: Any) -> Any:
    if isinstance(value, BaseSettings | dict):
        return {_without_passwords(key): _without_passwords(item) for key, item in value.items()}
    return without_credentials(value) if isinstance(value, str) else value
