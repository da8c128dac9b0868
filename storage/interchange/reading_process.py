"""The far side of `reading`: a file in, the session's parts out. It ends with an empty frame."""

import gc
import json
import sys

from storage.errors import InterchangeError
from storage.interchange.api import read_session
from storage.interchange.arriving import as_json
from storage.interchange.child import bounded, write_frame
from storage.json_text import dumps

TOO_MUCH = "it takes too much memory to read"


def main() -> None:
    bounded()
    gc.disable()  # it would go through 100,000 entries again and again, for seconds
    source, out = sys.stdin.buffer, sys.stdout.buffer
    now = json.loads(source.readline())["now"]
    try:
        pieces = as_json(read_session(source.read(), now))
    except InterchangeError as error:
        write_frame(out, dumps({"error": str(error)}).encode())
    except (MemoryError, RecursionError):
        write_frame(out, dumps({"error": TOO_MUCH}).encode())
    else:
        write_frame(out, dumps({"head": next(pieces)}).encode())
        for part in pieces:
            write_frame(out, dumps(part).encode())
        write_frame(out, b"")
    out.flush()


if __name__ == "__main__":
    main()
