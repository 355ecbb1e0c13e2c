"""A column of mappings from names to numbers, by name: what a plain log's reward components are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload


@dataclass(frozen=True, slots=True)
class NamedNumbers(Sequence[dict[str, float]]):
    """Mappings that all have the same names, in the same order, as a column of numbers per name; at least
    one name."""

    names: tuple[str, ...]
    columns: tuple[Sequence[float], ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    @overload
    def __getitem__(self, at: int) -> dict[str, float]: ...

    @overload
    def __getitem__(self, at: slice) -> NamedNumbers: ...

    def __getitem__(self, at: int | slice) -> dict[str, float] | NamedNumbers:
        if isinstance(at, slice):
            return NamedNumbers(self.names, tuple(column[at] for column in self.columns))
        return dict(zip(self.names, (column[at] for column in self.columns), strict=True))

    def __iter__(self) -> Iterator[dict[str, float]]:
        for row in zip(*self.columns, strict=True):
            yield dict(zip(self.names, row, strict=True))


def below_each_other(pieces: Sequence[Sequence[object]]) -> Sequence[object]:
    """The pieces of a column as one; NamedNumbers stay what they are where they have the same names."""
    if len(pieces) == 1:
        return pieces[0]
    first = pieces[0] if pieces else None
    if isinstance(first, NamedNumbers):
        alike = [p for p in pieces if isinstance(p, NamedNumbers) and p.names == first.names]
        if len(alike) == len(pieces):
            columns = zip(*(p.columns for p in alike), strict=True)
            return NamedNumbers(first.names, tuple([n for part in parts for n in part] for parts in columns))
    return [value for piece in pieces for value in piece]
