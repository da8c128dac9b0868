"""A small MCP server over standard input and output, for `bough demo --hands`: python glossary.py

It is started as any other server is, from a configuration, and knows nothing of Bough.
"""

from mcp.server import MCPServer

WORDS = {
    "bubblewrap": "a program that confines another one to the folders it is shown",
    "leaf": "the entry of a tree at which a conversation goes on",
    "overseer": "the model that is asked where a table did not foresee what came out",
}

server = MCPServer("glossary")


@server.tool()
def define(word: str) -> str:
    """Say what a word of the demo means."""
    meaning = WORDS.get(word.lower())
    return f"{word}: {meaning}" if meaning is not None else f"{word} is not in the glossary"


if __name__ == "__main__":
    server.run()
