"""How many other objects a class works with. One that needs more than ten is two classes.

Counted is what a class is given when it is made (the fields of a dataclass, the parameters of
`__init__`) and what it makes for itself then, where that is no plain value. Plain are types of the
standard library, records (frozen dataclasses of nothing but plain values, enums, pydantic models,
exceptions), containers and unions of plain values, a module's own private classes, which are state,
and `Faults`, which is a logger. A callable counts: it is some other object's. `SqlTransaction` is
left out: its repositories, one for each kind of record, are what it gives.
"""

import ast
import builtins
from collections.abc import Iterator

import pytest

from tests.unit.test_house import FILES

MOST = 10
RECORDS = {"BaseModel", "Enum", "Flag", "IntEnum", "NamedTuple", "StrEnum", "TypedDict"}
PLAIN = {"Faults"}
LEFT_OUT = {"SqlTransaction"}
COUNTED = {"Awaitable", "Callable", "Coroutine"}

TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}


def _module(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


MODULES = {_module(name): tree for name, tree in TREES.items()}


def _names(tree: ast.Module, module: str) -> dict[str, tuple[str, ast.AST | None]]:
    """What the names of a module mean: where they are defined, and as what; no node: not in this
    project."""
    found: dict[str, tuple[str, ast.AST | None]] = {}
    for node in tree.body:
        match node:
            case ast.ImportFrom(module=str(origin), names=names):
                defined = dict(_defined(MODULES[origin])) if origin in MODULES else {}
                for one in names:
                    found[one.asname or one.name] = (origin, defined.get(one.name))
            case _:
                found.update({n: (module, d) for n, d in _defined(ast.Module([node], []))})
    return found


def _defined(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name):
                yield name, node
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.If(body=body):
                yield from _defined(ast.Module(body, []))


NAMES: dict[str, dict[str, tuple[str, ast.AST | None]]] = {
    module: _names(tree, module) for module, tree in MODULES.items()
}


def _fields(kind: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    if any("dataclass" in ast.unparse(each) for each in kind.decorator_list):
        for node in kind.body:
            match node:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                    if not ast.unparse(annotation).startswith("ClassVar"):
                        yield name, annotation
    for node in kind.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            given = node.args
            for each in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                if each.annotation is not None:
                    yield each.arg, each.annotation


def _made(kind: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """What `__init__` makes: an attribute, and the class that it is of."""
    for node in kind.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            for each in ast.walk(node):
                match each:
                    case (
                        ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Call(func=made))
                        | ast.AnnAssign(target=ast.Attribute(attr=name), value=ast.Call(func=made))
                    ) if isinstance(made, ast.Name) and made.id[:1].isupper():
                        yield name, made


def _is_record(kind: ast.ClassDef, module: str, above: frozenset[str]) -> bool:
    bases = {ast.unparse(base).partition("[")[0] for base in kind.bases}
    if bases & RECORDS or any(hasattr(builtins, base) for base in bases):
        return True
    if any(_record_above(base, module, above) for base in bases):
        return True
    frozen = any("frozen=True" in ast.unparse(each) for each in kind.decorator_list)
    return frozen and all(_is_plain(each, module, above) for _, each in _fields(kind))


def _record_above(base: str, module: str, above: frozenset[str]) -> bool:
    origin, node = NAMES[module].get(base, (module, None))
    return isinstance(node, ast.ClassDef) and _is_record(node, origin, above | {base})


def _is_plain(kind: ast.AST, module: str, above: frozenset[str] = frozenset()) -> bool:
    """`above`: the classes whose fields are being looked at, so that one may hold itself."""
    match kind:
        case ast.Constant(value=str(text)):
            return _is_plain(ast.parse(text, mode="eval").body, module, above)
        case ast.Constant():
            return True
        case ast.BinOp(left=left, right=right):
            return _is_plain(left, module, above) and _is_plain(right, module, above)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(_is_plain(part, module, above) for part in parts)
        case ast.Subscript(value=ast.Name(id="Literal")):
            return True
        case ast.Subscript(value=value, slice=part):
            return _is_plain(value, module, above) and _is_plain(part, module, above)
        case ast.Name(id=name):
            return _is_plain_name(name, module, above)
        case ast.Attribute(value=ast.Name(id=library)):
            return library not in MODULES
    return False


def _is_plain_name(name: str, module: str, above: frozenset[str]) -> bool:
    origin, node = NAMES[module].get(name, (module, None))
    if name in COUNTED:
        return False
    if node is None:  # of the standard library, or of another one
        return origin not in MODULES or hasattr(builtins, name)
    if not isinstance(node, ast.ClassDef):
        return _is_plain(node, origin, above)
    private = name.startswith("_") and origin == module
    known = private or name in PLAIN or name in above
    return known or _is_record(node, origin, above | {name})


def collaborators(kind: ast.ClassDef, module: str) -> list[str]:
    held = (*_fields(kind), *_made(kind))
    return [name for name, each in held if not _is_plain(each, module)]


def test_a_class_works_with_ten_others_at_most() -> None:
    found = {
        f"{module}.{kind.name}": collaborators(kind, module)
        for module, tree in MODULES.items()
        for kind in ast.walk(tree)
        if isinstance(kind, ast.ClassDef) and kind.name not in LEFT_OUT
    }
    assert {name: others for name, others in found.items() if len(others) > MOST} == {}


COUNTED_HERE = """
import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

class Store(Protocol): ...

class Clock:
    def __init__(self, store: Store, zone: str) -> None:
        self.store, self.zone = store, zone
        self.alarm = Alarm()

class Alarm: ...

@dataclass(frozen=True)
class Point:
    x: int
    next: "Point | None" = None

@dataclass
class Parts:
    point: Point
    points: Mapping[str, list[Point]]
    ended: asyncio.Event
    store: Store | None
    clocks: dict[int, Clock]
    told: Callable[[str], None]
    _own: Clock = field(init=False)
"""


def test_records_and_the_standard_library_are_no_collaborators(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = ast.parse(COUNTED_HERE)
    monkeypatch.setitem(MODULES, "here", tree)
    monkeypatch.setitem(NAMES, "here", _names(tree, "here"))
    kinds = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    assert collaborators(kinds["Parts"], "here") == ["store", "clocks", "told", "_own"]
    assert collaborators(kinds["Clock"], "here") == ["store", "alarm"]
    assert collaborators(kinds["Point"], "here") == []
