"""Plain values out of a pickle, read opcode by opcode: nothing is imported, called or built.

Frameworks leave their settings in files that `torch.save` wrote: a zip archive around a pickle. Loading one
runs code that the file chooses. Here numbers, text and containers come out as they are, and everything that
a pickle would have to import becomes an `Opaque` with its name, its arguments and its state.
"""

from __future__ import annotations

import pickletools
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from rollprof.schema.ledger import Ledger
from rollprof.sources.opening import open_bytes
from rollprof.sources.records import SniffedFile

LARGEST = 16 << 20
"""Bytes of a pickle that is read; settings take a few thousand."""
MAX_OPCODES = 1_000_000

_MARK = object()


@dataclass(slots=True, eq=False)
class Opaque:
    """Something a pickle would import: `name` is `module.attribute`, `args` what it would be called with,
    `state` what would be set on it."""

    name: str
    args: tuple[Any, ...] = ()
    state: Any = None


class DamagedPickle(ValueError):
    """The bytes are no whole pickle of known opcodes."""


def read_torch_archive(file: SniffedFile, ledger: Ledger) -> Any:
    """The object in the `data.pkl` of a `torch.save` archive, or None with an entry in the ledger."""
    try:
        with open_bytes(file.path, file.compression) as stream:
            archive = zipfile.ZipFile(BytesIO(stream.read(LARGEST)))
        member = next((i for i in archive.infolist() if i.filename.endswith("data.pkl")), None)
        if member is None or member.file_size > LARGEST:
            raise DamagedPickle("no pickle of a sensible size in it")
        value = plain_values(archive.read(member))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as problem:
        ledger.skip(file.name, 0, f"unreadable archive: {str(problem) or type(problem).__name__}"[:160])
        return None
    ledger.ok()
    return value


def plain_values(data: bytes) -> Any:
    """The value that the pickle `data` describes. Raises DamagedPickle."""
    machine = _Machine()
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if count > MAX_OPCODES:
                raise DamagedPickle("too long")
            if opcode.name == "STOP":
                return machine.pop()
            machine.run(opcode.name, argument)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as problem:
        raise DamagedPickle(str(problem) or type(problem).__name__) from None
    raise DamagedPickle("ends early")


_LITERALS = frozenset(
    {
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE"),
        *("BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    }
)


@dataclass(slots=True)
class _Machine:
    """The pickle machine's stack and memo, with Opaque in place of everything alive."""

    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def run(self, name: str, argument: Any) -> None:
        if name in _LITERALS:
            self.stack.append(argument)
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self.memo[int(argument)] = self.stack[-1]
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = self.stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            self.stack.append(self.memo[int(argument)])
        elif name in ("GLOBAL", "INST"):
            known = Opaque(str(argument).replace(" ", "."))
            self.stack.append(Opaque(known.name, tuple(self.pop_mark())) if name == "INST" else known)
        elif name in ("EXT1", "EXT2", "EXT4"):
            self.stack.append(Opaque(f"extension.{argument}"))
        elif name == "PERSID":
            self.stack.append(Opaque("persistent", (argument,)))
        elif name not in ("PROTO", "FRAME"):
            _EFFECTS[name](self)

    def pop(self) -> Any:
        return self.stack.pop()

    def pop_mark(self) -> list[Any]:
        """What lies above the topmost mark, which goes too."""
        items: list[Any] = []
        while (item := self.stack.pop()) is not _MARK:
            items.append(item)
        return items[::-1]

    def push_tuple(self, size: int) -> None:
        items = [self.pop() for _ in range(size)]
        self.stack.append(tuple(items[::-1]))

    def set_items(self, pairs: list[Any]) -> None:
        """Keys that cannot be hashed (an Opaque can) are left out."""
        target = self.stack[-1]
        if isinstance(target, dict):
            for key, value in zip(pairs[::2], pairs[1::2], strict=True):
                if isinstance(key, str | int | float | bool | bytes | None | Opaque):
                    target[key] = value

    def add(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, list):
            target.extend(items)

    def call(self, *, keywords: bool = False) -> None:
        if keywords:
            self.pop()
        args, target = self.pop(), self.pop()
        name = target.name if isinstance(target, Opaque) else type(target).__name__
        self.stack.append(Opaque(name, args if isinstance(args, tuple) else (args,)))

    def build(self) -> None:
        state = self.pop()
        target = self.stack[-1]
        if isinstance(target, Opaque):
            target.state = state

    def stack_global(self) -> None:
        attribute, module = self.pop(), self.pop()
        self.stack.append(Opaque(f"{module}.{attribute}"))

    def construct(self) -> None:
        items = self.pop_mark()
        target = items[0] if items else None
        name = target.name if isinstance(target, Opaque) else type(target).__name__
        self.stack.append(Opaque(name, tuple(items[1:])))


def _push(make: Callable[[], Any]) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(make())


_EFFECTS: dict[str, Callable[[_Machine], Any]] = {
    "MARK": _push(lambda: _MARK),
    "NONE": _push(lambda: None),
    "NEWTRUE": _push(lambda: True),
    "NEWFALSE": _push(lambda: False),
    "EMPTY_LIST": _push(list),
    "EMPTY_DICT": _push(dict),
    "EMPTY_TUPLE": _push(tuple),
    "EMPTY_SET": _push(list),
    "POP": lambda m: m.pop(),
    "POP_MARK": lambda m: m.pop_mark(),
    "DUP": lambda m: m.stack.append(m.stack[-1]),
    "TUPLE": lambda m: m.stack.append(tuple(m.pop_mark())),
    "TUPLE1": lambda m: m.push_tuple(1),
    "TUPLE2": lambda m: m.push_tuple(2),
    "TUPLE3": lambda m: m.push_tuple(3),
    "LIST": lambda m: m.stack.append(m.pop_mark()),
    "FROZENSET": lambda m: m.stack.append(m.pop_mark()),
    "DICT": lambda m: _dict(m),
    "APPEND": lambda m: _append(m),
    "APPENDS": lambda m: m.add(m.pop_mark()),
    "ADDITEMS": lambda m: m.add(m.pop_mark()),
    "SETITEM": lambda m: _set_item(m),
    "SETITEMS": lambda m: m.set_items(m.pop_mark()),
    "STACK_GLOBAL": _Machine.stack_global,
    "REDUCE": _Machine.call,
    "NEWOBJ": _Machine.call,
    "NEWOBJ_EX": lambda m: m.call(keywords=True),
    "OBJ": _Machine.construct,
    "BUILD": _Machine.build,
    "BINPERSID": lambda m: m.stack.append(Opaque("persistent", (m.pop(),))),
    "NEXT_BUFFER": _push(lambda: Opaque("buffer")),
    "READONLY_BUFFER": lambda _: None,
}


def _dict(machine: _Machine) -> None:
    pairs = machine.pop_mark()
    machine.stack.append({})
    machine.set_items(pairs)


def _append(machine: _Machine) -> None:
    item = machine.pop()
    machine.add([item])


def _set_item(machine: _Machine) -> None:
    value, key = machine.pop(), machine.pop()
    machine.set_items([key, value])
