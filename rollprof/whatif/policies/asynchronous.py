"""Fully asynchronous training with a bound on staleness: engines and trainer never wait for a whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rollprof.whatif.outcome import Outcome, Tally, use_of
from rollprof.whatif.policies.base import Parameter, Parameters, Policy
from rollprof.whatif.policies.carried import Carried
from rollprof.whatif.policies.splitting import best_split, needs, split_note
from rollprof.whatif.setting import Setting, Stream


def play(setting: Setting, parameters: Parameters) -> Outcome:
    """At version `v`, `(bound + v + 1)*N` groups have been submitted. The trainer takes N complete groups,
    the oldest (`order=submission`) or those complete first, and a new version comes out.

    A new version reaches the engines at once: running rollouts prefill again (`interrupt=reprefill`), go on
    with the cache they have (`inflight`), or keep the weights they began with (`frozen`).
    """
    asked = int(ASYNC.number(parameters, "engines"))
    divided, generating = best_split(setting, asked, lambda s: _versions(s, parameters))
    outcome = _versions(divided, parameters)
    return replace(outcome, notes=split_note(setting, generating), trainer=divided.trainer)


def _versions(setting: Setting, parameters: Parameters) -> Outcome:
    w, trainer, tally = setting.workload, setting.trainer, Tally()
    bound = int(ASYNC.number(parameters, "bound"))
    oldest_first = ASYNC.word(parameters, "order") == "submission"
    interrupt = ASYNC.word(parameters, "interrupt")
    if interrupt != "reprefill":
        setting = replace(setting, engines=replace(setting.engines, resume=0.0))
    flight, stream = Carried(w), Stream(w, -setting.warm_up % w.n_steps)
    sizes = np.diff(w.steps)
    for v, r in enumerate(setting.rounds(carry=True)):
        ahead = [int(sizes[(r.step + k) % w.n_steps]) for k in range(bound + 1)]
        flight.launch(stream.take(sum(ahead) if v == 0 else ahead[-1]), setting.engines.count)
        active = np.flatnonzero(flight.left > 0)
        rows, done = flight.row[active], flight.done[active]
        drain = setting.drain_on(rows, done, flight.engine[active], fixed_cost=True)
        times = flight.group_times(active, setting.complete(drain, rows))
        wanted = ahead[0]
        chosen = np.arange(wanted) if oldest_first else np.sort(np.argsort(times, kind="stable")[:wanted])
        ready = float(times[chosen].max())
        wall = ready + trainer.seconds(flight.tokens_of(chosen))
        seen = drain.at(wall)
        flight.advance(active, seen.tokens)
        if interrupt == "frozen":
            flight.as_of_start(chosen)
        kept, by_age = flight.take(chosen)
        tally.add(
            r.index,
            wall,
            wall + trainer.sync,
            generated=seen.decoded,
            kept=kept,
            by_age=by_age,
            prompts=len(chosen),
            use=use_of(drain, seen, wall + trainer.sync),
        )
        flight.new_version()
    return tally.outcome(carries=True, barrier=False, buffered=flight.buffered, lost=setting.lost_tokens)


def scan(_setting: Setting) -> Sequence[Parameters]:
    """Bounds of one and of two versions."""
    return [{"bound": 1.0}, {"bound": 2.0}]


ASYNC = Policy(
    name="async",
    doc="fully asynchronous, with a bound on staleness",
    parameters=(
        Parameter("bound", 1, "versions that the oldest trained tokens may lie back", at_least=0),
        Parameter("order", "submission", "which groups are trained first", ("submission", "completion")),
        Parameter(
            "interrupt",
            "reprefill",
            "what new weights do to running rollouts",
            ("reprefill", "inflight", "frozen"),
        ),
        Parameter("engines", 0, "engines that generate (0: the best split)", at_least=0),
    ),
    needs=needs,
    scan=scan,
    play=play,
    carries=True,
)
