"""How bubblewrap is called: what a command sees of the machine, and as whom it runs. Pure.

A gateway that is nobody special: one bubblewrap with a user namespace, in which a command has the
gateway's user and none of its rights. A gateway that is root: an outer bubblewrap, with root's
rights, makes the view of the machine; then root is given up for ever (setpriv), and an inner one
adds the user namespace, in which processes are counted for this command alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.tools.terminal.sandbox import cache
from agent.tools.terminal.sandbox.limits import Limits
from agent.tools.terminal.sandbox.place import Owner, Place
from agent.tools.terminal.sandbox.shown import outermost

BASE = {
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
    "HOME": "/tmp",  # noqa: S108 - its own
    "LANG": "C.UTF-8",
    "TERM": "dumb",
}
"""What a command finds in its environment, besides what `environment` adds, and what its agent
exported."""
AUTHOR = {
    "GIT_AUTHOR_NAME": "Bough agent",
    "GIT_AUTHOR_EMAIL": "agent@localhost",
    "GIT_COMMITTER_NAME": "Bough agent",
    "GIT_COMMITTER_EMAIL": "agent@localhost",
}
"""Who git says made a commit."""
ETC = (
    *("alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies"),
    *("debian_version", "fonts", "gai.conf", "host.conf", "ld.so.cache", "ld.so.conf"),
    *("ld.so.conf.d", "localtime", "magic", "mime.types", "nsswitch.conf", "os-release"),
    *("pki/tls/certs", "protocols", "services", "ssl/certs", "ssl/openssl.cnf", "timezone"),
)
"""What is shown of /etc: nothing that is anybody's."""
ETC_OF_NETWORK = ("hosts", "resolv.conf")
_ROOT_NEEDS = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")


@dataclass(frozen=True, slots=True)
class System:
    """What there is on the machine."""

    bubblewrap: str
    setpriv: str
    """ "" where it is not needed."""
    bash: str
    layout: tuple[tuple[str, str], ...]
    """Each folder of the system, and where it leads to if it is a link, else ""."""
    etc: tuple[str, ...]
    """Those of ETC and ETC_OF_NETWORK that are there."""


@dataclass(frozen=True, slots=True)
class Pipes:
    """Descriptors that are handed to bubblewrap, and what is read from them."""

    arguments: int
    inner_arguments: int
    users: int
    groups: int
    filter: int | None
    """The program of seccomp; None where there is none for the machine."""
    info: int
    """Bubblewrap says there which process is the first of the sandbox."""


def environment(place: Place, given: Mapping[str, str], *, confined: bool) -> dict[str, str]:
    """What every command finds. `given`: as in [tools] environment."""
    found = {**BASE, **AUTHOR, **_git(place, confined)}
    if place.cache is not None:
        found |= cache.variables(cache.WHERE if confined else place.cache)
    found |= given
    folders = [folder for folder in found["PATH"].split(":") if folder != "$PATH"]
    if "PATH" in given:
        found["PATH"] = ":".join([*folders, BASE["PATH"]])
    return found


def _git(place: Place, confined: bool) -> dict[str, str]:
    """Git refuses a repository of another user's, as a workspace may be. It is told that this one
    is meant, by variables, so that no file of settings outside the workspace is read."""
    safe = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": str(place.root),
        "GIT_CONFIG_KEY_1": "safe.directory",
        "GIT_CONFIG_VALUE_1": f"{place.root}/*",
    }
    # HOME is a folder of its own in a sandbox, and everybody's /tmp without one.
    return safe if confined else {**safe, "GIT_CONFIG_GLOBAL": "/dev/null"}


def command_line(
    system: System, pipes: Pipes, inside: Sequence[str], owner: Owner | None
) -> list[str]:
    """What is started: the rest of the arguments come through a pipe each, so that nobody reads
    them in a list of processes."""
    outer = [system.bubblewrap, "--args", str(pipes.arguments), "--"]
    if owner is None:
        return [*outer, *inside]
    given_up = [
        *(system.setpriv, "--reuid", str(owner.user), "--regid", str(owner.group)),
        *("--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--"),
    ]
    inner = [system.bubblewrap, "--args", str(pipes.inner_arguments), "--"]
    return [*outer, *given_up, *inner, *inside]


def arguments(
    system: System, pipes: Pipes, place: Place, limits: Limits, *, network: bool
) -> list[str]:
    """Of the outer bubblewrap, or the only one."""
    made = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    made += ["--hostname", "sandbox", "--new-session", "--die-with-parent", "--clearenv"]
    made += ["--setenv", "PATH", BASE["PATH"]]
    if not network:
        made.append("--unshare-net")
    made += ["--cap-drop", "ALL"]
    if place.owner is None:
        made.append("--unshare-user")
    else:
        for name in _ROOT_NEEDS:
            made += ["--cap-add", name]
    made += _view(system, pipes, place, limits, network)
    return [*made, "--chdir", "/", "--info-fd", str(pipes.info)]


def last_arguments(pipes: Pipes, environment: Mapping[str, str], *, inner: bool) -> list[str]:
    """Of the bubblewrap that starts the command itself."""
    made = ["--clearenv"]
    if inner:
        made += ["--unshare-user", "--die-with-parent", "--cap-drop", "ALL"]
        made += ["--dev-bind", "/", "/", "--chdir", "/"]
    for name, value in environment.items():
        made += ["--setenv", name, value]
    # Not before: bubblewrap itself writes there. A command could lower its OOM score otherwise.
    made += ["--remount-ro", "/proc"]
    if pipes.filter is not None:
        made += ["--seccomp", str(pipes.filter)]
    return made


def _view(system: System, pipes: Pipes, place: Place, limits: Limits, network: bool) -> list[str]:
    made = []
    for path, link in system.layout:
        made += ["--symlink", link, path] if link else ["--ro-bind", path, path]
    for parent in ("/etc", "/etc/pki", "/etc/pki/tls", "/etc/ssl"):
        made += ["--perms", "0755", "--dir", parent]
    for name in system.etc:
        if network or name not in ETC_OF_NETWORK:
            made += ["--ro-bind", f"/etc/{name}", f"/etc/{name}"]
    made += ["--perms", "0444", "--ro-bind-data", str(pipes.users), "/etc/passwd"]
    made += ["--perms", "0444", "--ro-bind-data", str(pipes.groups), "/etc/group"]
    for folder in place.masked:
        made += ["--tmpfs", str(folder)]
    made += ["--proc", "/proc", "--dev", "/dev", *_temporary("/dev/shm", limits)]  # noqa: S108
    made += ["--remount-ro", "/dev", *_temporary("/tmp", limits)]  # noqa: S108
    made += _shown(system, place)
    made += _folders_above(place.root)
    made += ["--bind", str(place.root), str(place.root)]
    if place.cache is not None:
        made += [*_folders_above(cache.WHERE), "--bind", str(place.cache), str(cache.WHERE)]
    for folder in (*place.masked, Path("/")):
        made += ["--remount-ro", str(folder)]
    return made


def _shown(system: System, place: Place) -> list[str]:
    """What is shown besides, at its own place; where that was named by a link, the link too."""
    there = [Path(path) for path, _ in system.layout]
    made = []
    for real in outermost(place.shown):
        if not _is_below(real, there):
            made += [*_folders_above(real), "--ro-bind", str(real), str(real)]
            there.append(real)
    for each in sorted(place.shown, key=lambda each: len(each.path.parts)):
        if not _is_below(each.path, there):
            made += [*_folders_above(each.path), "--symlink", str(each.real), str(each.path)]
            there.append(each.path)
    return made


def _is_below(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _temporary(path: str, limits: Limits) -> list[str]:
    return ["--perms", "1777", "--size", str(limits.temporary), "--tmpfs", path]


def _folders_above(root: Path) -> list[str]:
    """Made so that anybody may pass through."""
    above = [str(folder) for folder in reversed(root.parents)][1:]
    return [part for folder in above for part in ("--perms", "0755", "--dir", folder)]


def users(owner: Owner, home: str = BASE["HOME"]) -> str:
    """/etc/passwd."""
    return f"agent:x:{owner.user}:{owner.group}:agent:{home}:/bin/bash\n"


def groups(owner: Owner) -> str:
    return f"agent:x:{owner.group}:\n"


def script(go: int, told: int, given: int, limits: Limits) -> str:
    """What bash runs. It begins once the gateway has said so on descriptor `go`, and reads from
    `given`, each with a NUL behind it: $1, the command; $2, its directory; $3, the workspace; $4,
    not empty where processes are counted for the command alone; then the command's own arguments.
    So none of it stands in a list of processes. It takes its limits, and says on `told` that it
    began and what it leaves; the command itself has none of these descriptors. In another
    directory than that which people were shown, nothing is run; a workspace that its owner closed
    (chmod 0) is opened again."""
    # A shell that may write nothing is to say so, and go on to what removes files.
    told_of_size = "" if limits.file else "trap '' XFSZ"
    # Low numbers first: high ones would be beyond the limit.
    return f"""\
exec 3<&{go} {go}<&- 4>&{told} {told}>&- 5<&{given} {given}<&- || exit 125
read -r said <&3 && [ "$said" = go ] || exit 125
mapfile -t -d '' said <&5 && set -- "${{said[@]}}" || exit 125
unset said
exec 3<&- 5<&-
ulimit -c 0 -n {limits.descriptors} -i {limits.signals} || exit 125
ulimit -f {limits.file // 1_024} -d {limits.memory // 1_024} || exit 125
{told_of_size}
[ -z "$4" ] || ulimit -u {limits.processes} || exit 125
umask 022
cd -P -- "$3" 2>/dev/null || {{ chmod u+rwx -- "$3" && cd -P -- "$3"; }} || exit 125
printf 'began\\0' >&4
trap 'status=$?
{{ printf "%s\\0" "$(pwd -P)"; /usr/bin/env -0; }} 2>/dev/null >&4
exit $status' EXIT
[ "$2" = "$3" ] || {{ cd -P -- "$2" 2>/dev/null && [ "$PWD" = "$2" ]; }} || {{
    cd -- "$3"
    echo "[nothing was run: $2 is gone or closed; the next run_command starts in $3]"
    exit 125
}}
eval "shift 4; $1" 4>&-
"""
