"""What stops the gateway before or while it runs. The text is for people: what and what to do."""


class GatewayError(Exception):
    """Base of this package's errors."""


class ConfigError(GatewayError):
    """The configuration cannot be used. Names the key."""


class SessionsFault(GatewayError):
    """A command on sessions cannot be carried out: no such entry, no such file."""


class ExportFault(GatewayError):
    """A session cannot be written as a file."""


class InitEnded(GatewayError):
    """`bough init` cannot go on: no more answers, or a file that cannot be written."""
