"""What can go wrong in an agent, beside agent.models.base.ModelError."""


class AgentError(Exception):
    """Base of this package's errors."""


class ToolError(AgentError):
    """A tool call cannot be done. The text is the call's result: it tells the model what to do."""
