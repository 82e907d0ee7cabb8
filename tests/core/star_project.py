"""Settings of a user's project that is made of fhcrawl's, with components of its own."""

from fhcrawl.settings import *  # noqa: F403
from tests.core.own_components import COMPONENTS

vars().update(COMPONENTS)
