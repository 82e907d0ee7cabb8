"""Settings of a user's project that has the add-on, and components of its own."""

from tests.core.own_components import COMPONENTS

ADDONS = {"fhcrawl.Addon": 500}
COMMANDS_MODULE = "fhcrawl.commands"
vars().update(COMPONENTS)
