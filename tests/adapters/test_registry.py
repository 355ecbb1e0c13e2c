"""Adapters by name, claims in order, and packages that are broken."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from rollprof.adapters import registry
from rollprof.adapters.base import Adapter, Claim
from rollprof.errors import UsageProblem
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile

Make = Callable[..., SniffedFile]
Install = Callable[..., None]
DUMP = '{"input": "q", "output": "a", "score": 1.0, "step": 1}\n'


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """`install(name, adapter)` makes a third-party adapter available; None is one that cannot be imported."""
    points = list(registry._entry_points())

    def add(name: str, adapter: object) -> None:
        module = f"third_party_{name}"
        if adapter is not None:
            found = ModuleType(module)
            found.ADAPTER = adapter  # type: ignore[attr-defined]
            monkeypatch.setitem(sys.modules, module, found)
        points.append((name, f"{module}:ADAPTER"))
        monkeypatch.setattr(registry, "_entry_points", lambda: points)
        registry._targets.cache_clear()
        registry._import.cache_clear()

    yield add
    monkeypatch.undo()
    registry._targets.cache_clear()
    registry._import.cache_clear()


class Third:
    name = "third"
    title = "Third"
    brings: dict[str, object] = {}  # noqa: RUF012

    def __init__(self, claim: Claim | Exception | None) -> None:
        self._claim = claim

    def claim(self, file: SniffedFile) -> Claim | None:
        if isinstance(self._claim, Exception):
            raise self._claim
        return self._claim

    def mapper(self, context: object) -> None: ...

    def read(self, *_: object) -> list[object]:
        return []

    def interpret(self, evidence: object) -> None: ...


def test_built_in_adapters_fit_the_protocol() -> None:
    assert {"verl", "generic"} <= set(registry.names())
    for name in registry.names():
        adapter = registry.load(name)
        assert isinstance(adapter, Adapter)
        assert adapter.name == name
        assert all(b.option for b in adapter.brings.values())


def test_names_imports_no_adapter() -> None:
    code = (
        "import sys; from rollprof.adapters import registry; registry.names(); "
        "print([m for m in sys.modules if m.startswith('rollprof.adapters.') and m.count('.') > 2])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_workers_load_next_to_nothing() -> None:
    code = (
        "import sys; from rollprof.adapters import registry\n"
        "registry.load('verl'); registry.load('generic')\n"
        "heavy = {'polars', 'pyarrow', 'scipy', 'numpy', 'msgspec', 'importlib.metadata'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_unknown_name() -> None:
    with pytest.raises(UsageProblem) as problem:
        registry.load("Verll")
    assert problem.value.message == "no adapter 'Verll'"
    assert problem.value.hint is not None
    assert problem.value.hint.startswith("did you mean verl? installed: ")


def test_the_best_claim_comes_first(make: Make) -> None:
    found = registry.claims(make(DUMP, "dump/1.jsonl"))
    assert [c.adapter for c in found] == ["verl", "generic"]
    assert found[0].score > found[1].score
    assert [c.adapter for c in registry.claims(make(DUMP, "dump/1.jsonl"), only="generic")] == ["generic"]
    assert registry.claims(make("nothing in particular\n")) == []


def test_a_third_party_adapter_takes_part(make: Make, install: Install) -> None:
    install("third", Third(Claim("third", "rollouts", 1.0, "mine")))
    assert "third" in registry.names()
    assert registry.claims(make(DUMP, "dump/1.jsonl"))[0].adapter == "third"


@pytest.mark.parametrize(
    ("adapter", "said"),
    [
        (None, "ModuleNotFoundError"),
        (object(), "it is not an adapter"),
        (Third(RuntimeError("boom")), "RuntimeError: boom"),
    ],
)
def test_a_broken_adapter_is_named_and_left_out(
    make: Make, install: Install, adapter: object, said: str
) -> None:
    install("third", adapter)
    ledger = Ledger()
    found = registry.claims(make(DUMP, "dump/1.jsonl"), ledger=ledger)
    assert [c.adapter for c in found] == ["verl", "generic"]
    (problem,) = ledger.problems
    assert problem.reason.startswith("adapter 'third' left out: ")
    assert said in problem.reason
    with pytest.warns(registry.BrokenAdapterWarning, match="'third' left out"):
        registry.claims(make(DUMP, "dump/1.jsonl"))


def test_a_broken_adapter_that_was_asked_for(make: Make, install: Install) -> None:
    install("third", None)
    with pytest.raises(UsageProblem, match=r"adapter 'third' \(third_party_third:ADAPTER\) cannot be used"):
        registry.load("third")
    with pytest.raises(UsageProblem, match="cannot be used"):
        registry.claims(make(DUMP), only="third")


def test_a_built_in_name_cannot_be_taken_over(install: Install) -> None:
    install("verl", Third(None))
    assert registry.load("verl").title == "verl"


def test_metadata_may_be_missing(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("third", Third(None))
    monkeypatch.setattr(registry, "_entry_points", list)
    registry._targets.cache_clear()
    assert {"verl", "generic"} <= set(registry.names())
    assert registry.load("generic").name == "generic"


def test_map_lets_the_generic_reader_claim_any_keys(make: Make) -> None:
    file = make('{"a": {"n": 5}, "b": 1}\n', "odd.jsonl")
    assert registry.claims(file) == []
    (claim,) = registry.claims(file, columns={"response_tokens": "a.n"})
    assert (claim.adapter, claim.role) == ("generic", "rollouts")
    assert registry.claims(file, columns={"response_tokens": "c"}) == []
    with pytest.raises(UsageProblem, match="no such column"):
        registry.claims(file, columns={"tokens": "a.n"})
