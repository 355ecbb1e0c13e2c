"""Token counts for rollouts whose log has only text: characters scaled to the step's logged mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

StepKey = tuple[int | None, str]


@dataclass(frozen=True, slots=True)
class StepScale:
    """How the characters of one step become tokens: `factor` tokens per character, never above `limit`;
    responses of at least `pinned` characters are as long as the longest the step logged, `limit`."""

    factor: float
    limit: float = math.inf
    pinned: float = math.inf


@dataclass(slots=True)
class TokenScale:
    """Fills `response_tokens` (and `prompt_tokens`) where the log has characters and the step's mean.

    Rounding carries over from row to row, so that a step's scaled tokens sum to its logged mean times its
    rollouts, to the nearest token.
    """

    response: Mapping[StepKey, StepScale]
    prompt: Mapping[StepKey, StepScale]
    _carry: dict[tuple[str, StepKey], tuple[float, int]] = field(default_factory=dict)

    def __call__(self, table: pa.Table) -> pa.Table:
        """The batch with token counts and `token_basis` filled in where they can be."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        unknown = pc.is_null(table["response_tokens"])
        if not pc.any(unknown).as_py():
            return table
        basis = np.array(table["token_basis"].to_pylist(), dtype=object)
        keys = rows_by_step(table)
        lacking = unknown.to_numpy(zero_copy_only=False)
        tokens, filled = self._scaled(table, "response", self.response, keys, lacking)
        basis[filled] = "scaled"
        rest = lacking & ~filled & table["response_chars"].is_valid().to_numpy(zero_copy_only=False)
        basis[rest] = "characters"
        table = _put(table, "response_tokens", tokens, filled)
        table = _set(table, "token_basis", pa.array(basis.tolist(), pa.string()))
        lacking = pc.is_null(table["prompt_tokens"]).to_numpy(zero_copy_only=False)
        tokens, filled = self._scaled(table, "prompt", self.prompt, keys, lacking)
        return _put(table, "prompt_tokens", tokens, filled)

    def _scaled(
        self,
        table: pa.Table,
        kind: str,
        scales: Mapping[StepKey, StepScale],
        keys: list[tuple[StepKey, npt.NDArray[np.intp]]],
        wanted: npt.NDArray[np.bool_],
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        import numpy as np
        import pyarrow.compute as pc

        column = table[f"{kind}_chars"]
        have = column.is_valid().to_numpy(zero_copy_only=False) & wanted
        chars = pc.fill_null(column, 0).to_numpy().astype(np.float64)
        tokens = np.zeros(table.num_rows, np.int64)
        filled = np.zeros(table.num_rows, bool)
        for key, rows in keys:
            scale = scales.get(key)
            if scale is None:
                continue
            rows = rows[have[rows]]
            exact, whole = self._carry.get((kind, key), (0.0, 0))
            lengths = np.minimum(chars[rows] * scale.factor, scale.limit)
            lengths[chars[rows] >= scale.pinned] = scale.limit
            running = exact + np.cumsum(lengths)
            rounded = np.rint(running).astype(np.int64)
            tokens[rows] = np.diff(rounded, prepend=whole)
            filled[rows] = True
            if len(rows):
                self._carry[(kind, key)] = (float(running[-1]), int(rounded[-1]))
        return tokens, filled


def scale_to(chars: npt.ArrayLike, mean: float, longest: float | None, at_longest: int = 1) -> StepScale:
    """The scale that gives `chars`, shape (n,), the logged mean and the logged maximum.

    The `at_longest` responses with the most characters are the ones that were `longest` tokens long (the
    one maximum, or all that were cut at the cap); the others share what is left of the mean and stay below.
    Matching the mean alone would miss the maximum by a quarter either way, and the maximum is what a step
    waits for. Where mean and maximum contradict each other, the mean alone.
    """
    import numpy as np

    c = np.sort(np.asarray(chars, float))[::-1]
    n, total = len(c), float(np.sum(c))
    if not total:
        return StepScale(0.0)
    plain = StepScale(mean * n / total)
    if longest is None or not mean <= longest:
        return plain
    pinned = float(c[min(max(at_longest, 1), n) - 1])
    rest = c[c < pinned]
    left = mean * n - longest * (n - len(rest))
    if left < 0 or (len(rest) and left > longest * np.count_nonzero(rest)) or (left and not rest.any()):
        return plain
    if not rest.any():
        return StepScale(0.0, longest, pinned)
    return StepScale(_factor_below(rest, left, longest), longest, pinned)


def _factor_below(c: npt.NDArray[np.float64], total: float, limit: float) -> float:
    """Factor so that `min(factor * c, limit)` sums to `total`; `c` descends and is not all zero."""
    import numpy as np

    # With the k longest at the limit the others share what is left; the right k is the first that fits.
    shared = c.sum() - np.concatenate(([0.0], np.cumsum(c)[:-1]))
    some = shared > 0
    factors = (total - np.arange(len(c)) * limit)[some] / shared[some]
    fits = np.flatnonzero(factors * c[some] <= limit * (1 + 1e-12))
    return float(factors[fits[0]]) if len(fits) else limit / float(c[c > 0][-1])


def rows_by_step(table: pa.Table) -> list[tuple[StepKey, npt.NDArray[np.intp]]]:
    """Rows of each (step, split) in a batch."""
    import numpy as np
    import pyarrow.compute as pc

    missing = np.iinfo(np.int64).min
    steps = pc.fill_null(table["step"], missing).to_numpy()
    evals = pc.fill_null(pc.equal(table["split"].cast("string"), "eval"), False)
    is_eval = evals.to_numpy(zero_copy_only=False)
    found = []
    for step in np.unique(steps):
        for split, mask in (("train", ~is_eval), ("eval", is_eval)):
            rows = np.flatnonzero((steps == step) & mask)
            if len(rows):
                found.append(((None if step == missing else int(step), split), rows))
    return found


def _put(table: pa.Table, name: str, values: npt.NDArray[np.int64], where: npt.NDArray[np.bool_]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    new = pa.array(values, pa.int64(), mask=~where).cast(pa.int32())
    return _set(table, name, pc.coalesce(table[name].cast(pa.int32()), new))


def _set(table: pa.Table, name: str, column: Any) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, column)
