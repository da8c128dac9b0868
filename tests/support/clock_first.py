"""Imported before all else by the process that gateways of the tests are forked off."""

from tests.support.moved_clock import install

install()
