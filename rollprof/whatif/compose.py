"""From `--policy a:x=1+b:y=2` to a replay. Parts are applied in a fixed order: which responses are launched,
cap, placement, engine, and last the policy that decides when a step ends. Separate speed-ups are never
multiplied."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rollprof.errors import UsageProblem
from rollprof.whatif.outcome import Outcome
from rollprof.whatif.policies import catalog
from rollprof.whatif.policies.base import Parameters, Policy, Value
from rollprof.whatif.policies.baseline import BASELINE
from rollprof.whatif.setting import Setting


@dataclass(frozen=True, slots=True)
class Composition:
    """Policies with their parameters, in the order they are applied; the scheduler is the last."""

    parts: tuple[tuple[Policy, Parameters], ...]

    @property
    def name(self) -> str:
        """`truncate+april`: the parts in their order, without a plain baseline."""
        return "+".join(p.name for p, _ in self.parts)

    @property
    def parameters(self) -> dict[str, Value]:
        """Parameters given; with the policy's name in front where there are several parts."""
        if len(self.parts) == 1:
            return dict(self.parts[0][1])
        return {f"{p.name}.{k}": v for p, given in self.parts for k, v in given.items()}

    @property
    def carries(self) -> bool:
        return any(p.carries for p, _ in self.parts)

    @property
    def informative(self) -> bool:
        return any(p.informative for p, _ in self.parts)

    @property
    def off_policy(self) -> float | None:
        """Where the mechanism alone fixes it."""
        shares = [p.off_policy for p, _ in self.parts]
        return None if any(s is None for s in shares) else max(s for s in shares if s is not None)

    @property
    def cautions(self) -> list[str]:
        """What is dishonest about the choices made; none where nothing has to be forced."""
        return [why for why in (p.caution(given) for p, given in self.parts) if why]

    def needs(self, setting: Setting, *, multi_turn: bool) -> list[str]:
        """Facts that this run lacks for it."""
        found = [n for p, given in self.parts for n in p.needs(setting, given)]
        if multi_turn and any(p.placement_like for p, _ in self.parts):
            found.append("times of tools and environments: turns cannot be placed without them")
        return list(dict.fromkeys(found))

    def prepared(self, setting: Setting) -> Setting:
        """The setting with every modifier applied."""
        for p, given in self.parts:
            if p.prepare is not None:
                setting = p.prepare(setting, given)
        for p, given in self.parts:
            if p.change is not None:
                setting = p.change(setting, given)
        return setting

    def play(self, setting: Setting) -> Outcome:
        """Replay a prepared setting."""
        p, given = self.parts[-1]
        if p.play is None:
            p, given = BASELINE, {}
        assert p.play is not None
        return p.play(setting, given)


def compose(parts: list[tuple[Policy, Parameters]]) -> Composition:
    """In the order of application. UsageProblem for two policies that end a step, or one named twice."""
    names = [p.name for p, _ in parts]
    if len(set(names)) < len(names):
        raise UsageProblem(f"--policy {'+'.join(names)}: one policy is named twice")
    ending = [p.name for p, _ in parts if p.play is not None]
    if len(ending) > 1:
        raise UsageProblem(f"{' and '.join(ending)} both decide when a step ends: they do not compose")
    return Composition(tuple(sorted(parts, key=lambda part: part[0].order)))


def parse(text: str) -> Composition:
    """`april:over=1.5`, or several joined by `+`."""
    return compose([_part(piece.strip()) for piece in text.split("+")])


def _part(text: str) -> tuple[Policy, Parameters]:
    name, _, rest = text.partition(":")
    policy = catalog.policy(name.strip())
    given: dict[str, Value] = {}
    for item in filter(None, (piece.strip() for piece in rest.split(","))):
        key, equals, value = item.partition("=")
        if not equals:
            raise UsageProblem(f"--policy {text}: {item} is not of the form key=value")
        given[key.strip()] = _value(policy, key.strip(), value.strip())
    return policy, given


def _value(policy: Policy, key: str, text: str) -> Value:
    known: Mapping[str, object] = {p.name: p for p in policy.parameters}
    if key not in known:
        names = ", ".join(known) or "it has none"
        raise UsageProblem(f"{policy.name} has no parameter {key!r}", hint=f"there are: {names}")
    parameter = next(p for p in policy.parameters if p.name == key)
    if parameter.choices:
        if text not in parameter.choices:
            raise UsageProblem(
                f"{policy.name}:{key}={text}: no such choice", hint=" or ".join(parameter.choices)
            )
        return text
    if isinstance(parameter.default, str):
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or (parameter.at_least is not None and number < parameter.at_least):
        least = f"at least {parameter.at_least:g}" if parameter.at_least is not None else "a number"
        raise UsageProblem(f"{policy.name}:{key}={text}: {least} is wanted")
    if number > 1e9:
        raise UsageProblem(f"{policy.name}:{key}={text}: too large")
    return number


def usual(setting: Setting) -> list[Composition]:
    """Every policy with the parameters worth a try on this run."""
    return [Composition(((p, given),)) for p in catalog.POLICIES.values() for given in p.scan(setting)]


def reference_of(setting: Setting, plain: Setting) -> Setting:
    """The baseline's setting: plain engines, the logged responses (or the sub-sample of them)."""
    w = setting.reference if setting.reference is not None else plain.workload
    return replace(plain, workload=w, reference=None)
