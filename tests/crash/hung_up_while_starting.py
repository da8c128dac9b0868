"""A gateway that is told to read its configuration anew once it has read it, before it runs."""

import os
import signal
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from gateway.__main__ import main
from tests.crash.scene import BEN


class HangsUp(MetaPathFinder):
    """At the import of the library of a platform that was configured."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "telegram":
            config = Path(sys.argv[-1])
            text = config.read_text(encoding="utf-8")
            more = f'access = {{"allow" = ["telegram:{BEN}"], "owners"'
            config.write_text(text.replace('access = {"owners"', more), encoding="utf-8")
            os.kill(os.getpid(), signal.SIGHUP)
        return None


if __name__ == "__main__":
    sys.meta_path.insert(0, HangsUp())
    sys.exit(main())
