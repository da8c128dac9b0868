"""What to do about what the doctor found, where its line does not say it by itself."""

_CURES = {
    "configuration": "change it in the file or the variable that it names",
    "database": "do what it says, or name another under [storage] url",
    "telegram": "check its token, base_url and the network; bough init asks for a new token",
    "discord": "check its token, api_base and the network; bough init asks for a new token",
    "access": "put people's numbers there; the bot tells each one who writes to it theirs",
    "approvers": "put people's numbers there; the bot tells each one who writes to it theirs",
    "escalation": "configure that platform, or take the address out of escalation.levels",
    "web": "check [web] search, search_url and search_key",
    "sandbox": "install or allow bubblewrap (deploy/README.md), or switch terminal and code off",
    "commands": "do what it says, under [tools]",
    "workspace": "name another folder under [tools] workspace",
    "models.worker": "change it in the configuration",
    "budgets": "give the model input_cost and output_cost, or raise the budget",
    "fallback": "take it out of that model's fallback",
    "escalation_model": "name one that is configured, or take the key out",
    "model of": "check its name, api_base, key and the network",
    "mcp.": "check its section and start it by hand",
    "tools": "put somebody there",
}
"""By the beginning of a subject."""


_INSTALL = "pip install "


def cure_of(subject: str, said: str = "") -> str:
    """The longest beginning that fits is meant. `said`: what the finding says; where that is what
    is to be installed, nothing else helps."""
    if _INSTALL in said:
        return "install it as it says, where Bough itself is installed, and start anew"
    fitting = [beginning for beginning in _CURES if subject.startswith(beginning)]
    return _CURES[max(fitting, key=len)] if fitting else "change it in the configuration"
