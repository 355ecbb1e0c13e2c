"""Rows of mappers -> Arrow batches with exactly the columns of `rollouts`, and totals per step.

In flight, categories are plain strings: dictionaries would differ from batch to batch, and the store
makes one of them for the whole file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, groupby
from typing import TYPE_CHECKING, Any

from rollprof.adapters.base import Row
from rollprof.adapters.named_numbers import NamedNumbers, below_each_other
from rollprof.errors import RollprofError
from rollprof.parallel.coercion import coerce
from rollprof.parallel.digests import all_chars, canonical, group_ids, passage_ids, storable
from rollprof.parallel.tasks import ChunkTask, Remark, StepKey, StepTotals
from rollprof.parallel.token_counts import TokenCounter
from rollprof.schema.tables import ROLLOUTS, TEXT_COLUMNS, Column, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

MAX_ROWS = 4096
MAX_BYTES = 8 << 20
"""A batch is closed at so many rows, or so many bytes of the file or characters of text."""

END_TOKENS, RESPONSE_CAP = "end_tokens", "response_cap"
"""Hints of a claim about responses whose tokens are counted here."""

DIGESTED = ("prompt", "response", "group")
_GIVEN = frozenset(ROLLOUTS.column_names) | frozenset(DIGESTED)

Columns = dict[str, Sequence[Any]]


@lru_cache(maxsize=2)
def flight_schema(*, keep_text: bool = False) -> pa.Schema:
    """The schema of the batches: `rollouts` with categories as strings, and the text where it is kept."""
    import pyarrow as pa

    columns = (*ROLLOUTS, *(TEXT_COLUMNS if keep_text else ()))
    return pa.schema(
        [pa.field(c.name, pa.string() if c.type == "category" else arrow_type(c)) for c in columns]
    )


class RowBatches:
    """Collects rows, closes batches before they grow large, and adds up what scaling needs."""

    def __init__(self, task: ChunkTask, columns: Sequence[str], remarks: dict[str, Remark]) -> None:
        unknown = [c for c in columns if c not in _GIVEN]
        if unknown:
            raise RollprofError(f"adapter {task.claim.adapter!r} gives unknown columns: {', '.join(unknown)}")
        self.rows = 0
        self._task = task
        self._names = tuple(columns)
        self._texts = [columns.index(c) for c in ("prompt", "response") if c in columns]
        self._remarks = remarks
        self._counter = TokenCounter(task.options.tokenizer) if task.options.tokenizer else None
        self._waiting: list[Row] = []
        self._offsets: list[int] = []
        self._given: dict[str, list[Sequence[Any]]] = {name: [] for name in columns}
        self._size = 0
        self._totals: dict[StepKey, StepTotals] = {}
        self._sink: Any = None
        self._writer: Any = None

    def add(self, row: Row, offset: int) -> None:
        """Take a row; `offset` is where its record stood."""
        self._waiting.append(row)
        self._offsets.append(offset)
        for index in self._texts:
            if isinstance(row[index], str):
                self._size += len(row[index])
        self._close_when_full()

    def add_batch(self, given: Mapping[str, Sequence[Any]], offsets: Sequence[int]) -> None:
        """Take rows whose columns are put together already, by the mapper's names."""
        self._gather()
        for name in self._names:
            self._given[name].append(given[name])
        self._offsets.extend(offsets)
        self._close_when_full()

    def finish(self) -> bytes:
        """The Arrow IPC stream of all batches, b"" without any."""
        self._close()
        if self._writer is None:
            return b""
        self._writer.close()
        return bytes(self._sink.getvalue())

    def totals(self) -> dict[StepKey, StepTotals]:
        """Sums per (step, split), in the order in which the steps came."""
        return self._totals

    def _gather(self) -> None:
        """Rows that came one by one -> columns."""
        if self._waiting:
            for name, column in zip(self._names, zip(*self._waiting, strict=True), strict=True):
                self._given[name].append(column)
            self._waiting = []

    def _close_when_full(self) -> None:
        if (
            len(self._offsets) >= MAX_ROWS
            or self._size >= MAX_BYTES
            or self._offsets[-1] - self._offsets[0] >= MAX_BYTES
        ):
            self._close()

    def _close(self) -> None:
        self._gather()
        if self._offsets:
            given = {name: below_each_other(pieces) for name, pieces in self._given.items()}
            self._write(given, self._offsets)
            self._given = {name: [] for name in self._names}
            self._offsets, self._size = [], 0

    def _write(self, given: Mapping[str, Sequence[Any]], offsets: Sequence[int]) -> None:
        import pyarrow as pa

        count = len(offsets)
        columns = self._columns(given, offsets)
        schema = flight_schema(keep_text=self._task.options.keep_text)
        if self._writer is None:
            self._sink = pa.BufferOutputStream()
            # Most columns of most logs are empty, and travel as next to nothing.
            options = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)
            self._writer = pa.ipc.new_stream(self._sink, schema, options=options)
        arrays = [
            _array(columns[f.name], f.type) if f.name in columns else pa.nulls(count, f.type) for f in schema
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
        self._add_up(columns, count)
        self.rows += count

    def _columns(self, given: Mapping[str, Sequence[Any]], offsets: Sequence[int]) -> Columns:
        """Every column that has a value, as the schema holds it."""
        count = len(offsets)
        columns: Columns = {
            c.name: self._coerced(c, given[c.name], offsets) for c in ROLLOUTS if c.name in given
        }
        prompts = given.get("prompt")
        responses = given.get("response")
        columns["source"] = [self._task.source] * count
        split = self._task.claim.split
        own = columns.get("split")
        columns["split"] = [split] * count if own is None else [s or split for s in own]
        if prompts is not None:
            _fill(columns, "prompt_id", passage_ids(prompts))
            _fill(columns, "prompt_chars", all_chars(prompts))
        if responses is not None:
            _fill(columns, "response_chars", all_chars(responses))
        columns["group_id"] = self._groups(columns, given.get("group"), count)
        self._count_tokens(columns, prompts, responses, count)
        if self._task.options.keep_text:
            for name, passages in (("prompt", prompts), ("response", responses)):
                columns[name] = [_text(p) for p in passages] if passages is not None else [None] * count
        return columns

    def _coerced(self, column: Column, values: Sequence[Any], offsets: Sequence[int]) -> Sequence[Any]:
        def unfit(index: int, reason: str) -> None:
            known = self._remarks.get(reason)
            if known is None:
                self._remarks[reason] = Remark(1, offsets[index])
            else:
                known.count += 1

        return coerce(column, values, unfit)

    def _groups(self, columns: Columns, keys: Sequence[Any] | None, count: int) -> list[int | None]:
        absent = [None] * count
        ids = group_ids(
            columns.get("step", absent),
            columns["split"],
            keys if keys is not None else absent,
            columns.get("prompt_id", absent),
        )
        if "group_id" not in columns:
            return ids
        return [own if own is not None else new for own, new in zip(columns["group_id"], ids, strict=True)]

    def _count_tokens(
        self,
        columns: Columns,
        prompts: Sequence[Any] | None,
        responses: Sequence[Any] | None,
        count: int,
    ) -> None:
        """Fills in token counts with the tokenizer, and says of each row how its length is known."""
        absent = [None] * count
        logged = columns.get("response_tokens", absent)
        counted: Sequence[Any] = absent
        if self._counter is not None:
            counted = self._with_end(_counted(self._counter, responses, logged))
            _fill(columns, "response_tokens", counted)
            known = columns.get("prompt_tokens", absent)
            _fill(columns, "prompt_tokens", _counted(self._counter, prompts, known))
        lengths = columns.get("response_chars", absent)
        basis: Sequence[str | None] = absent
        for known_by, name in ((lengths, "characters"), (counted, "tokenized"), (logged, "exact")):
            if None not in known_by:
                basis = [name] * count
            elif known_by is not absent:
                basis = [b if n is None else name for n, b in zip(known_by, basis, strict=True)]
        own = columns.get("token_basis")
        columns["token_basis"] = basis if own is None else [a or b for a, b in zip(own, basis, strict=True)]

    def _with_end(self, counted: Sequence[int | None]) -> Sequence[int | None]:
        """Counts with the end-of-sequence token that the framework counts and the text lacks.

        The claim says how many (`end_tokens`), and the cap (`response_cap`), which a response that was cut
        has reached without one.
        """
        hints = self._task.claim.hints
        end, cap = int(hints.get(END_TOKENS, "0")), int(hints.get(RESPONSE_CAP, "0"))
        if not end:
            return counted
        return [None if n is None else min(n + end, max(cap, n)) if cap else n + end for n in counted]

    def _add_up(self, columns: Columns, count: int) -> None:
        absent = [None] * count
        keys = zip(columns.get("step", absent), columns["split"], strict=True)
        start = 0
        for key, run in groupby(keys):
            end = start + sum(1 for _ in run)
            more = _totals(columns, start, end)
            known = self._totals.get(key)
            self._totals[key] = more if known is None else known.plus(more)
            start = end


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if isinstance(values, NamedNumbers):
        return _map_of(values, kind)
    if not pa.types.is_map(kind) or None in values:
        return pa.array(values, kind)
    # a map from its parts: Arrow looks at lists of pairs one by one
    parts = list(chain.from_iterable(values))
    ends = pa.array([0, *accumulate(map(len, values))], pa.int32())
    names = pa.array([name for name, _ in parts], kind.key_type)
    return pa.MapArray.from_arrays(ends, names, pa.array([n for _, n in parts], kind.item_type)).cast(kind)


def _map_of(values: NamedNumbers, kind: pa.MapType) -> pa.Array:
    """The same names in each row: no look at any of them."""
    import numpy as np
    import pyarrow as pa

    each, count = len(values.names), len(values)
    names = pa.array(values.names, kind.key_type).take(pa.array(np.tile(np.arange(each), count)))
    numbers = np.empty((count, each))
    for at, column in enumerate(values.columns):
        numbers[:, at] = column
    ends = pa.array(np.arange(0, (count + 1) * each, each, dtype=np.int32))
    return pa.MapArray.from_arrays(ends, names, pa.array(numbers.ravel())).cast(kind)


def _totals(columns: Columns, start: int, end: int) -> StepTotals:
    """Sums over the rows start..end, which are of one step."""

    def of(name: str) -> list[Any]:
        column = columns.get(name, ())[start:end]
        return list(column) if None not in column else [v for v in column if v is not None]

    response_chars, prompt_chars = of("response_chars"), of("prompt_chars")
    tokens, rewards = of("response_tokens"), of("reward")
    return StepTotals(
        rollouts=end - start,
        chars=sum(response_chars),
        chars_max=max(response_chars, default=None),
        with_chars=len(response_chars),
        prompt_chars=sum(prompt_chars),
        with_prompt=len(prompt_chars),
        tokens=sum(tokens),
        with_tokens=len(tokens),
        reward=sum(rewards),
        with_reward=len(rewards),
        latest=max([*of("started_at"), *of("completed_at")], default=None),
    )


def _fill(columns: Columns, name: str, found: Sequence[Any]) -> None:
    """`found` where the mapper gave nothing."""
    own = columns.get(name)
    if own is not None and None not in own:
        return
    columns[name] = found if own is None else [f if o is None else o for o, f in zip(own, found, strict=True)]


def _counted(counter: TokenCounter, passages: Sequence[Any] | None, known: Sequence[Any]) -> Sequence[Any]:
    """Tokens of the passages whose count is not known yet."""
    if passages is None:
        return [None] * len(known)
    return counter.count([p if k is None else None for p, k in zip(passages, known, strict=True)])


def _text(passage: Any) -> str | None:
    text = passage if isinstance(passage, str) else canonical(passage)
    return None if text is None or passage is None else storable(text)
