"""What stops the gateway before or while it runs. The text is for people: what and what to do."""


class GatewayError(Exception):
    """Base of this package's errors."""


class ConfigError(GatewayError):
    """The configuration cannot be used. Names the key."""
