"""All policies by name, in the order they are listed."""

from __future__ import annotations

from difflib import get_close_matches

from rollprof.errors import UsageProblem
from rollprof.whatif.policies.april import APRIL
from rollprof.whatif.policies.asynchronous import ASYNC
from rollprof.whatif.policies.base import Policy
from rollprof.whatif.policies.baseline import BASELINE
from rollprof.whatif.policies.dapo import DAPO
from rollprof.whatif.policies.length_aware import LENGTH_AWARE
from rollprof.whatif.policies.one_step_off import ONE_STEP_OFF
from rollprof.whatif.policies.oversample_drop import DROP
from rollprof.whatif.policies.partial import PARTIAL
from rollprof.whatif.policies.rollpacker import ROLLPACKER
from rollprof.whatif.policies.speculative_tail import SPECULATIVE
from rollprof.whatif.policies.truncate import TRUNCATE

POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        BASELINE,
        TRUNCATE,
        PARTIAL,
        APRIL,
        ROLLPACKER,
        DAPO,
        DROP,
        LENGTH_AWARE,
        ONE_STEP_OFF,
        ASYNC,
        SPECULATIVE,
    )
}


def policy(name: str) -> Policy:
    """The policy of this name. UsageProblem, with the nearest, for an unknown one."""
    found = POLICIES.get(name)
    if found is None:
        near = get_close_matches(name, POLICIES, 1)
        raise UsageProblem(
            f"no policy {name!r}", hint=f"did you mean {near[0]}?" if near else ", ".join(POLICIES)
        )
    return found
