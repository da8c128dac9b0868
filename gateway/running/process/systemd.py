"""What a service manager is told, by systemd's protocol: that the gateway is ready, reloads, stops,
and is alive. Where nobody wants to know (no NOTIFY_SOCKET), nothing is said.

One datagram for each, to a socket in the file system or, with "@", in Linux's abstract names.
"""

import logging
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

log = logging.getLogger(__name__)

MICROSECONDS = 1_000_000


@dataclass(slots=True)
class ServiceManager:
    address: str = ""
    """"" where there is none."""
    watchdog: float = 0.0
    """Seconds within which it wants to hear that we are alive, or kills us; 0: it does not."""
    _failed: bool = field(default=False, init=False)

    @classmethod
    def of(cls, environ: Mapping[str, str] = os.environ) -> "ServiceManager":
        """The one that started this process. What is meant for another process is not taken."""
        micros, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
        ours = pid in ("", str(os.getpid())) and micros.isdecimal()
        return cls(environ.get("NOTIFY_SOCKET", ""), int(micros) / MICROSECONDS if ours else 0.0)

    def ready(self, status: str) -> None:
        self._tell("READY=1", f"STATUS={status}")

    def status(self, status: str) -> None:
        self._tell(f"STATUS={status}")

    def alive(self, status: str) -> None:
        self._tell("WATCHDOG=1", f"STATUS={status}")

    def reloading(self) -> None:
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._tell("RELOADING=1", f"MONOTONIC_USEC={now}", "STATUS=Reading the configuration.")

    def stopping(self, status: str) -> None:
        self._tell("STOPPING=1", f"STATUS={status}")

    def _tell(self, *lines: str) -> None:
        """Best effort, without waiting: a manager that does not listen holds up nobody."""
        if not self.address:
            return
        text = "\n".join(" ".join(line.split()) for line in lines)
        address = f"\0{self.address[1:]}" if self.address.startswith("@") else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as one:
                one.setblocking(False)
                one.sendto(text.encode(), address)
        except OSError as error:
            if not self._failed:
                log.warning("the service manager cannot be told (%s): %s", self.address, error)
            self._failed = True
        else:
            self._failed = False
