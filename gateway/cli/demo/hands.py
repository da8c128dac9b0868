"""The second tour: children that run tests and read pages, a command that a person approves after a
kill, an MCP server, a schedule, a note.

It talks to `bough chat` through pipes and prints what is said. Nothing in it is staged but the
models' words (hands.yaml): the projects' tests run, the pages are fetched from a site on this
machine, commands are confined where bubblewrap works. It waits for all that it shows, and looks at
the files at its end.
"""

import asyncio
import importlib.util
import shutil
import sys
import tempfile
import time
from pathlib import Path

from agent.tools.terminal.sandbox.probe import try_sandbox
from gateway.cli.demo.chat_process import Chat, TourFailed, note, title
from gateway.cli.demo.costs import show_costs
from gateway.cli.demo.site_process import SiteProcess, local_site
from gateway.cli.demo.workspace import TESTED, Place, prepare

PATHS = "/usr/local/bin:/usr/bin:/bin"
"""Where a confined command finds programs."""
CHAIN = "write down that the tests ran"
MENDED = {
    "myproject/api/handlers.py": "        return {}\n",
    "webapp/src/auth/login.py": "name = ?",
}
"""File → what a child wrote into it."""


def hands() -> int:
    """Show it all; 0 when everything was seen, else 1 and a line that says what was not."""
    with tempfile.TemporaryDirectory(prefix="bough-demo-") as folder:
        try:
            with local_site() as site:
                place = _prepared(Path(folder), site)
                _scenes(place)
                look_over(place, site)
        except TourFailed as error:
            print(f"The demo failed: {error}", file=sys.stderr)
            return 1
        show_costs(place.database)
    return 0


def _prepared(folder: Path, site: SiteProcess) -> Place:
    title("What there is")
    if sys.platform != "linux":
        raise TourFailed("commands are run on Linux only, so there is nothing to show here")
    if shutil.which("python3", path=PATHS) is None:
        raise TourFailed(f"the projects are tested with python3, and there is none in {PATHS}")
    tried = asyncio.run(try_sandbox(network=False))
    note(f"the sandbox: {tried.text}")
    if not tried.ok:
        note('so commands run unconfined in this tour, sandbox = "none"')
    mcp = importlib.util.find_spec("mcp") is not None
    if not mcp:
        note("the extra bough[mcp] is missing: the scene with an MCP server is left out")
    note("three projects with tests, a site with three topics, a search server over it")
    sandbox = "bubblewrap" if tried.ok else "none"
    place = Place(folder, site.site, site.search, sandbox, mcp)
    prepare(place)
    return place


def _scenes(place: Place) -> None:
    chat = Chat(place.config)
    try:
        _switched_on(chat)
        _tests(chat)
        _research(chat)
        _delegated(chat)
        _asked(chat)
        chat.kill()
        note("kill -9; a new process starts on the same database")
        chat = Chat(place.config)
        _pressed(chat)
        if place.mcp:
            _defined(chat)
        _scheduled(chat)
        _remembered(chat)
        chat.end()
    finally:
        chat.kill()


def _switched_on(chat: Chat) -> None:
    title("What is switched on here, and what asks")
    chat.say("/tools")
    chat.hear("`run_command`: runs where .* matches, else asks", "that commands ask")
    chat.hear("`delegate_task`", "the list of tools")


def _tests(chat: Chat) -> None:
    title("The tests of three projects, side by side: one child each, in its own folder")
    chat.say("run the tests of three projects")
    chat.hear(r"1 of 8 tests fails: .* line 42", "a project whose tests fail, and why")
    chat.hear(r"line 47, .*all 3 tests pass", "a project with an error, mended")
    chat.hear(r"login\.py:\d+, mended.*All 5 tests pass", "a project that passes, reviewed")


def _research(chat: Chat) -> None:
    title("Three topics, side by side: a search, pages, their links; private addresses are refused")
    chat.say("research three topics side by side")
    chat.hear(r"WebAssembly: .*Wasmtime", "the first topic")
    chat.hear(
        r"RISC-V: .*is refused: .*this machine itself",
        "the second topic, and a link that is refused",
    )
    chat.hear(
        r"Quantum computing: .*is refused: .*this machine itself",
        "the third, and a redirect refused",
    )


def _delegated(chat: Chat) -> None:
    title("What was delegated")
    chat.say("/agents")
    chat.hear("#1 ", "the first delegation")
    chat.hear("completed", "what came of it")


def _asked(chat: Chat) -> None:
    title("A chain that no rule allows: a person is asked, and the process is killed")
    chat.say(CHAIN)
    chat.hear(r"type a number with", "the question whether the command may run")
    time.sleep(0.5)  # as a person would, and so that the copy is on record as sent


def _pressed(chat: Chat) -> None:
    mark = chat.hear(r"\[(#\d+)\] Once", "the question after the restart")[1]
    chat.hear("type a number with")
    chat.say(mark)
    chat.hear(rf"Written down in {TESTED}: 5 tests ran", "the command's result")


def _defined(chat: Chat) -> None:
    title("A tool of an MCP server, which a rule allows")
    chat.say("what does the glossary say about bubblewrap?")
    chat.hear("The glossary says: .*confines", "what the server says")


def _scheduled(chat: Chat) -> None:
    title("A schedule fires, and a turn of its own begins")
    chat.say(f"in three seconds, look at {TESTED}")
    chat.hear(r"the tests ran once, at .*\d\d:\d\d:\d\d", "the turn that the schedule begins")


def _remembered(chat: Chat) -> None:
    title("A note, which the next conversation begins with")
    chat.say("remember that my tests run with unittest")
    chat.hear("Noted: my tests", "the note")
    chat.say("/new")
    chat.hear("A new conversation", "a new conversation")
    chat.say("what do you know of me?")
    chat.hear("From my notes: .*my tests run with unittest", "the note in a new conversation")
    chat.say("/memory")
    chat.hear("my tests run with unittest", "the note in the list for people")


def look_over(place: Place, site: SiteProcess) -> None:
    """What the chat cannot show: TourFailed where a file or the site tells otherwise."""
    title("Looked over")
    for name, mended in MENDED.items():
        if mended not in _read(place, name):
            raise TourFailed(f"{name} was not mended")
    note("two files were mended: " + ", ".join(MENDED))
    lines = _read(place, TESTED).splitlines()
    if len(lines) != 1:
        raise TourFailed(f"the approved command ran {len(lines)} times")
    note(f"the approved command ran once: {TESTED} has one line")
    if reached := site.end():
        raise TourFailed(f"a private address was reached: {reached[0].strip()}")
    note("nobody reached the private address that a page links to and another redirects to")


def _read(place: Place, name: str) -> str:
    try:
        return (place.workspace / name).read_text(encoding="utf-8")
    except OSError as error:
        raise TourFailed(f"{name} cannot be read: {error.strerror}") from None
