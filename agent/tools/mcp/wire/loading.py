"""The SDK takes 0.7 s to import, and is an extra that may be missing: only who has a server in the
configuration needs it, and not before the first connection.
"""

from importlib.util import find_spec

from agent.tools.mcp.wire.connection import Connect

MISSING = "the package mcp is not installed: pip install 'bough[mcp]'"
"""What people are told where the extra is not there."""


def installed() -> bool:
    return find_spec("mcp") is not None and find_spec("httpx2") is not None


def load() -> Connect:
    """Blocks for as long as the import takes."""
    from agent.tools.mcp.wire.sdk import connect

    return connect
