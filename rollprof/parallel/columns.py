"""Rows of mappers -> Arrow batches with exactly the columns of `rollouts`, and totals per step.

In flight, categories are plain strings: dictionaries would differ from batch to batch, and the store
makes one of them for the whole file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rollprof.adapters.base import Row
from rollprof.errors import RollprofError
from rollprof.parallel.coercion import coerce
from rollprof.parallel.digests import canonical, chars, group_id, passage_id, storable
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
        if (
            len(self._waiting) >= MAX_ROWS
            or self._size >= MAX_BYTES
            or offset - self._offsets[0] >= MAX_BYTES
        ):
            self._close()

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

    def _close(self) -> None:
        if not self._waiting:
            return
        import pyarrow as pa

        given = dict(zip(self._names, zip(*self._waiting, strict=True), strict=True))
        columns = self._columns(given, len(self._waiting))
        schema = flight_schema(keep_text=self._task.options.keep_text)
        if self._writer is None:
            self._sink = pa.BufferOutputStream()
            # Most columns of most logs are empty, and travel as next to nothing.
            options = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)
            self._writer = pa.ipc.new_stream(self._sink, schema, options=options)
        count = len(self._waiting)
        arrays = [
            pa.array(columns[f.name], f.type) if f.name in columns else pa.nulls(count, f.type)
            for f in schema
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
        self._add_up(columns, count)
        self.rows += count
        self._waiting, self._offsets, self._size = [], [], 0

    def _columns(self, given: Mapping[str, Sequence[Any]], count: int) -> Columns:
        """Every column that has a value, as the schema holds it."""
        columns: Columns = {c.name: self._coerced(c, given[c.name]) for c in ROLLOUTS if c.name in given}
        prompts = given.get("prompt")
        responses = given.get("response")
        columns["source"] = [self._task.source] * count
        split = self._task.claim.split
        columns["split"] = [s or split for s in columns.get("split", [split] * count)]
        if prompts is not None:
            _fill(columns, "prompt_id", [passage_id(p) for p in prompts])
            _fill(columns, "prompt_chars", [chars(p) for p in prompts])
        if responses is not None:
            _fill(columns, "response_chars", [chars(r) for r in responses])
        columns["group_id"] = self._groups(columns, given.get("group"), count)
        self._count_tokens(columns, prompts, responses, count)
        if self._task.options.keep_text:
            for name, passages in (("prompt", prompts), ("response", responses)):
                columns[name] = [_text(p) for p in passages] if passages is not None else [None] * count
        return columns

    def _coerced(self, column: Column, values: Sequence[Any]) -> list[Any]:
        def unfit(index: int, reason: str) -> None:
            known = self._remarks.get(reason)
            if known is None:
                self._remarks[reason] = Remark(1, self._offsets[index])
            else:
                known.count += 1

        return coerce(column, values, unfit)

    def _groups(self, columns: Columns, keys: Sequence[Any] | None, count: int) -> list[int | None]:
        absent = [None] * count
        ids = [
            group_id(step, split, key, prompt)
            for step, split, key, prompt in zip(
                columns.get("step", absent),
                columns["split"],
                keys if keys is not None else absent,
                columns.get("prompt_id", absent),
                strict=True,
            )
        ]
        return [
            own if own is not None else new
            for own, new in zip(columns.get("group_id", ids), ids, strict=True)
        ]

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
        basis = [_basis(*known) for known in zip(logged, counted, lengths, strict=True)]
        columns["token_basis"] = [
            own or found for own, found in zip(columns.get("token_basis", basis), basis, strict=True)
        ]

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
        steps = columns.get("step", absent)
        rows: dict[StepKey, list[int]] = {}
        for index, key in enumerate(zip(steps, columns["split"], strict=True)):
            rows.setdefault(key, []).append(index)
        for key, indices in rows.items():
            more = _totals(columns, indices)
            known = self._totals.get(key)
            self._totals[key] = more if known is None else known.plus(more)


def _totals(columns: Columns, rows: Sequence[int]) -> StepTotals:
    def of(name: str) -> list[Any]:
        column = columns.get(name)
        return [] if column is None else [column[i] for i in rows if column[i] is not None]

    response_chars, prompt_chars = of("response_chars"), of("prompt_chars")
    tokens, rewards = of("response_tokens"), of("reward")
    return StepTotals(
        rollouts=len(rows),
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


def _basis(logged: int | None, counted: int | None, characters: int | None) -> str | None:
    if logged is not None:
        return "exact"
    if counted is not None:
        return "tokenized"
    return None if characters is None else "characters"


def _fill(columns: Columns, name: str, found: Sequence[Any]) -> None:
    """`found` where the mapper gave nothing."""
    own = columns.get(name)
    columns[name] = found if own is None else [f if o is None else o for o, f in zip(own, found, strict=True)]


def _counted(counter: TokenCounter, passages: Sequence[Any] | None, known: Sequence[Any]) -> Sequence[Any]:
    """Tokens of the passages whose count is not known yet."""
    if passages is None:
        return [None] * len(known)
    return counter.count([p if k is None else None for p, k in zip(passages, known, strict=True)])


def _text(passage: Any) -> str | None:
    text = passage if isinstance(passage, str) else canonical(passage)
    return None if text is None or passage is None else storable(text)
