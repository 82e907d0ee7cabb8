"""A module of a user's that imports the reactor when it is imported."""

from twisted.internet import reactor

from tests.core import own_components


class Pipeline(own_components.Pipeline):
    reactor = reactor
