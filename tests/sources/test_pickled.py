"""Pickles read opcode by opcode: what they say comes out, what they would do does not happen."""

from __future__ import annotations

import collections
import enum
import pickle
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.sources.pickled import DamagedPickle, Opaque, plain_values

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=12,
)


class Colour(enum.Enum):
    RED = "red"


class Settings:
    """An object with state, a value shared twice, and an object inside."""

    def __init__(self) -> None:
        self.numbers = [1, 2.5, True, None]
        self.again = self.numbers
        self.colour = Colour.RED
        self.ordered = collections.OrderedDict(a=1)


@given(PLAIN, st.integers(3, pickle.HIGHEST_PROTOCOL))
def test_plain_values_come_out_as_they_are(value: Any, protocol: int) -> None:
    assert plain_values(pickle.dumps(value, protocol=protocol)) == value


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_objects_become_their_name_arguments_and_state(protocol: int) -> None:
    found = plain_values(pickle.dumps(Settings(), protocol=protocol))
    assert isinstance(found, Opaque)
    assert found.state["numbers"] == [1, 2.5, True, None]
    assert found.state["again"] is found.state["numbers"]
    colour = found.state["colour"]
    assert isinstance(colour, Opaque)
    assert colour.name.endswith(".Colour")
    assert colour.args == ("red",)
    if protocol >= 2:
        assert found.name.endswith(".Settings")


def test_nothing_is_called() -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (exec, ("raise SystemExit('ran')",))

    found = plain_values(pickle.dumps({"a": Bomb(), "b": 2}))
    assert found["b"] == 2
    assert found["a"].name.endswith("exec")
    assert found["a"].args == ("raise SystemExit('ran')",)


@given(st.binary(max_size=300))
def test_any_bytes_give_a_value_or_one_error(data: bytes) -> None:
    with suppress(DamagedPickle):
        plain_values(data)


@given(PLAIN, st.data())
def test_a_cut_or_changed_pickle_never_does_more_than_fail(value: Any, data: st.DataObject) -> None:
    whole = bytearray(pickle.dumps(value, protocol=4))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    for damaged in (bytes(whole), bytes(whole[:at])):
        with suppress(DamagedPickle):
            plain_values(damaged)
