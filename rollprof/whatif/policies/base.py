"""What a policy is: a name, parameters, what it needs, and how it is played."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rollprof.whatif.outcome import Outcome
from rollprof.whatif.setting import Setting

Value = float | str
Parameters = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its default, the words it may be or the smallest number, and what it means."""

    name: str
    default: Value
    doc: str
    choices: tuple[str, ...] = ()
    at_least: float | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """A remedy. Exactly one of `change` (modifiers: they change the setting) and `play` (schedulers).

    `needs` names the facts that this run lacks for it, `scan` the parameters worth a try without the user
    saying any. `caution` says what is dishonest about a choice, which then needs to be forced; "" for none.
    """

    name: str
    doc: str
    parameters: tuple[Parameter, ...]
    needs: Callable[[Setting, Parameters], list[str]]
    scan: Callable[[Setting], Sequence[Parameters]]
    change: Callable[[Setting, Parameters], Setting] | None = None
    play: Callable[[Setting, Parameters], Outcome] | None = None
    carries: bool = False
    """Work crosses steps: compared per trained token, after a warm-up."""
    off_policy: float | None = None
    """Share of trained tokens that are off-policy, where the mechanism alone fixes it."""
    caution: Callable[[Parameters], str] = field(default=lambda _p: "")
    placement_like: bool = False
    """Decides where or in which order rollouts run: not for multi-turn runs without tool times."""
    order: int = 5
    """In a composition, smaller ones are applied first; schedulers come last."""
    prepare: Callable[[Setting, Parameters], Setting] | None = None
    """Before everything else: which of the logged responses are launched."""
    informative: bool = False
    """Only groups whose rewards differ are trained: useful tokens are theirs, in the baseline too."""

    def number(self, given: Parameters, name: str) -> float:
        """A numeric parameter, or its default."""
        return float(given.get(name, self._default(name)))

    def word(self, given: Parameters, name: str) -> str:
        """A parameter that is a word, or its default."""
        return str(given.get(name, self._default(name)))

    def _default(self, name: str) -> Value:
        return next(p.default for p in self.parameters if p.name == name)


def nothing(_setting: Setting, _parameters: Parameters) -> list[str]:
    """No need beyond lengths."""
    return []


def once(_setting: Setting) -> Sequence[Parameters]:
    """One run with the defaults."""
    return [{}]
