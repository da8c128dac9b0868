"""An MCP server of 2025 by hand, without the SDK, that does one thing wrong.

    python -I -S tests/stand_ins/mcp_liar.py FAULT

It starts in 20 ms. A FAULT that none of the branches knows is a server that does all right.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
LYING_TOOLS = [
    {"name": "no schema"},
    {"name": "list", "inputSchema": ["a", "list"]},
    {"name": "not/fitting name!", "inputSchema": {"type": "object"}},
    {"name": "n" * 200, "inputSchema": {"type": "object"}},
    {
        "name": "odd",
        "description": "ig\u202enore \u001b[31m" + "long " * 1000,
        "inputSchema": {
            "type": "object",
            "$ref": "#/$defs/node",
            "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            "properties": {
                "a": {"type": ["string", "null"], "pattern": "(a+)+$"},
                "b b": {"type": "integer"},
                "c": {"type": "nonsense", "enum": [1, {"x": 2}]},
                "d": {"type": "array"},
                "e": True,
            },
            "required": ["a", "b b", 7],
        },
    },
    {"name": "odd", "inputSchema": {}},
    {"name": 7, "inputSchema": {}},
    "no tool at all",
    {"name": "plain", "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}}},
]
TASKS = [
    {"name": "long", "inputSchema": {}, "execution": {"taskSupport": "required"}},
    {"name": "either", "inputSchema": {}, "execution": {"taskSupport": "optional"}},
    {"name": "neither", "inputSchema": {}, "execution": 7},
]
PLAIN = {"type": "object", "properties": {"text": {"type": "string"}}}
tools = (
    LYING_TOOLS
    if FAULT == "lie"
    else TASKS
    if FAULT == "tasks"
    else [{"name": "say", "description": "Say it again.", "inputSchema": PLAIN}]
)


def send(**message: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def result(request: dict[str, Any], **fields: object) -> None:
    send(id=request["id"], result=fields)


def called(request: dict[str, Any]) -> None:
    arguments = request["params"].get("arguments", {})
    match FAULT:
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "quit":
            print("I have had enough", file=sys.stderr, flush=True)
            sys.exit(3)
        case "hang" | "deaf":
            while FAULT == "deaf":
                time.sleep(3600)
        case "fifty":
            content = [{"type": "text", "text": "x" * 50_000_000}]
            result(request, content=content)
        case "fifty-last":
            body = json.dumps({"content": [{"type": "text", "text": "y" * 50_000_000}]})
            sys.stdout.write(f'{{"result": {body}, "jsonrpc": "2.0", "id": {request["id"]}}}\n')
            sys.stdout.flush()
        case "dense" | "denser":
            filler = "{}," * (300_000 if FAULT == "dense" else 2_000_000)
            body = f'{{"content": [], "structuredContent": {{"a": [{filler}1]}}}}'
            sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {request["id"]}, "result": {body}}}\n')
            sys.stdout.flush()
        case "asks":
            for number in range(2_000):
                send(id=number, method="ping")
            result(request, content=[{"type": "text", "text": "asked"}])
        case "endless":
            while True:
                sys.stdout.write("z" * 1_000_000)
        case "parts":
            parts = ["text", 7, {"type": "video"}, {"type": "image", "data": "%%", "mimeType": "x"}]
            text = {"type": "text", "text": "fine"}
            result(request, content=[*parts, text], structuredContent=[1], isError="yes")
        case "half":
            result(request, content=[{"type": "text", "text": "cut here: \ud83d"}])
        case "shapeless":
            send(id=request["id"], result=[1, 2])
        case "refuse":
            error = {"code": -32602, "message": "no \u202eway: " + "because " * 1000}
            send(id=request["id"], error=error)
        case "flood":
            note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
            until = time.monotonic() + 3
            while time.monotonic() < until:
                sys.stdout.write((note + "\n") * 100)
            result(request, content=[{"type": "text", "text": "after the flood"}])
        case "look":
            fds = sorted(int(one.name) for one in Path("/proc/self/fd").iterdir())[:-1]
            seen = {"env": dict(os.environ), "fds": fds, "pid": os.getpid(), "sid": os.getsid(0)}
            result(request, content=[{"type": "text", "text": json.dumps(seen)}])
        case "grow":
            tools.append({"name": "grown", "inputSchema": {"type": "object"}})
            send(method="notifications/tools/list_changed")
            result(request, content=[{"type": "text", "text": "grown"}])
        case _:
            result(request, content=[{"type": "text", "text": str(arguments.get("text", ""))}])


def answer(request: dict[str, Any]) -> None:
    match request.get("method"):
        case "initialize":
            result(
                request,
                protocolVersion="2025-06-18",
                capabilities={"tools": {"listChanged": True}},
                serverInfo={"name": "liar", "version": "1"},
            )
        case "tools/list":
            if FAULT == "pages":
                cursor = int(request.get("params", {}).get("cursor", 0))
                page = [{"name": f"t{cursor}-{n}", "inputSchema": {}} for n in range(10)]
                result(request, tools=page, nextCursor=str(cursor + 1))
            else:
                result(request, tools=tools)
        case "tools/call":
            called(request)
        case "notifications/cancelled":
            print(f"cancelled {request['params']['requestId']}", file=sys.stderr, flush=True)
        case method if "id" in request:
            if FAULT == "silent":
                return
            if FAULT == "strict":
                sys.exit(1)
            send(id=request["id"], error={"code": -32601, "message": f"no {method}"})


def main() -> None:
    match FAULT:
        case "mute":
            while True:
                time.sleep(3600)
        case "stubborn":
            # It ignores the end of its input and SIGTERM, and so does a child that left its group.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            stray = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(3600)"
            child = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", stray], start_new_session=True
            )
            print(f"pids {os.getpid()} {child.pid}", file=sys.stderr, flush=True)
        case "noisy":
            for number in range(20_000):
                print(f"noise {number} " + "n" * 2_000, file=sys.stderr)
        case "chatty":
            print("Welcome to the server!\n\n{not json")
    for line in sys.stdin:
        answer(json.loads(line))
    while FAULT == "stubborn":
        time.sleep(3600)


main()
