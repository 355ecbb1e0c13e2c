"""One task to rows: values, digests, totals, ledger, memory."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollprof.errors import InputProblem, RollprofError
from rollprof.parallel import columns
from rollprof.parallel.columns import flight_schema
from rollprof.parallel.convert import convert_chunk
from rollprof.parallel.digests import group_id, passage_id, text_id
from rollprof.schema.tables import ROLLOUTS
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import sniff

from .rollout_tasks import Given, Mapper, claim, rows_of, task

AsFile = Callable[..., SniffedFile]
UseMapper = Callable[[Any], None]

ROWS: list[dict[str, Any]] = [
    {
        "input": f"prompt {i // 2}",
        "output": "w" * (10 + i),
        "score": i % 2,
        "step": 1 + i // 4,
        "acc": bool(i % 2),
    }
    for i in range(20)
]


@pytest.fixture(autouse=True)
def small_mapper(use_mapper: UseMapper) -> None:
    """Mapper() unless a test says otherwise."""


def test_rows_have_the_columns_of_the_schema(as_file: AsFile) -> None:
    result = convert_chunk(task(as_file(ROWS), source=3))
    assert (result.rows, result.ledger.read, result.ledger.clean) == (20, 20, True)
    (batch,) = result.batches()
    assert batch.schema.equals(flight_schema())
    assert tuple(batch.schema.names) == ROLLOUTS.column_names
    row = batch.to_pylist()[5]
    prompt = text_id("prompt 2")
    assert {k: v for k, v in row.items() if v is not None} == {
        "step": 2,
        "split": "train",
        "prompt_id": prompt,
        "group_id": group_id(2, "train", None, prompt),
        "prompt_chars": 8,
        "response_chars": 15,
        "token_basis": "characters",
        "reward": 1.0,
        "correct": True,
        "source": 3,
    }


def test_categories_are_plain_strings_in_flight() -> None:
    for column in ROLLOUTS:
        field = flight_schema().field(column.name)
        assert not pa.types.is_dictionary(field.type)
    assert flight_schema(keep_text=True).names[-2:] == ["prompt", "response"]


def test_groups_are_one_prompt_of_one_step(as_file: AsFile) -> None:
    rows = rows_of(convert_chunk(task(as_file([*ROWS, *ROWS]))))
    assert len({row["group_id"] for row in rows}) == 10
    assert len({row["prompt_id"] for row in rows}) == 10
    shifted = rows_of(convert_chunk(task(as_file([{**row, "step": row["step"] + 1} for row in ROWS]))))
    assert {r["prompt_id"] for r in shifted} == {r["prompt_id"] for r in rows}
    assert not {r["group_id"] for r in shifted} & {r["group_id"] for r in rows}


def test_a_group_key_of_the_log_goes_before_the_prompt(as_file: AsFile, use_mapper: UseMapper) -> None:
    use_mapper(Given("step", "prompt", "group"))
    data = [
        {"step": 1, "prompt": p, "group": g} for p, g in (("a", "x"), ("a", "y"), ("b", "y"), ("b", None))
    ]
    ids = [row["group_id"] for row in rows_of(convert_chunk(task(as_file(data))))]
    assert ids[1] == ids[2]
    assert len(set(ids)) == 3
    assert ids[3] == group_id(1, "train", None, text_id("b"))


def test_chats_are_hashed_and_measured(as_file: AsFile) -> None:
    chat = [{"role": "user", "content": "how many?"}]
    answer = [{"role": "assistant", "content": "two"}, {"role": "tool", "content": "ok"}]
    (row,) = rows_of(convert_chunk(task(as_file([{"input": chat, "output": answer, "step": 1}]))))
    assert row["prompt_id"] == passage_id(chat)
    assert (row["prompt_chars"], row["response_chars"]) == (9, 5)


def test_odd_scores_are_understood(as_file: AsFile) -> None:
    scores = [1, "0.5", {"score": 1.0, "acc": True}, True, False, None]
    result = convert_chunk(task(as_file([{"output": "x", "score": s} for s in scores])))
    assert [row["reward"] for row in rows_of(result)] == [1.0, 0.5, 1.0, 1.0, 0.0, None]
    assert result.remarks == {}


def test_values_out_of_range_are_null_and_remarked_on(as_file: AsFile) -> None:
    data = [
        ROWS[0],
        {**ROWS[1], "step": 2**70},
        {**ROWS[2], "score": math.nan},
        {**ROWS[3], "score": -math.inf},
    ]
    file = as_file(data)
    result = convert_chunk(task(file))
    rows = rows_of(result)
    assert [row["step"] for row in rows] == [1, None, 1, 1]
    assert [row["reward"] for row in rows] == [0.0, 1.0, None, None]
    lines = Path(file.path).read_bytes().split(b"\n")
    assert {text: (r.count, r.offset) for text, r in result.remarks.items()} == {
        "step: not a whole number in range, left empty": (1, len(lines[0]) + 1),
        "reward: not a finite number, left empty": (2, len(lines[0]) + len(lines[1]) + 2),
    }
    assert result.ledger.skipped == 0


def test_lone_surrogates_travel(as_file: AsFile) -> None:
    data = b'{"input": "a\\ud800", "output": "b\xed\xa0\x80", "step": 1}\n'
    result = convert_chunk(task(as_file(data), keep_text=True))
    (row,) = rows_of(result)
    assert (row["prompt_id"], row["prompt_chars"], row["response_chars"]) == (text_id("a\ud800"), 2, 2)
    assert row["response"] == "b\ufffd\ufffd\ufffd"


def test_text_is_kept_only_when_asked(as_file: AsFile) -> None:
    file = as_file([{"input": "secret question", "output": [{"content": "因"}], "step": 1}])
    plain = convert_chunk(task(file))
    assert b"secret" not in plain.ipc
    assert "prompt" not in rows_of(plain)[0]
    (row,) = rows_of(convert_chunk(task(file, keep_text=True)))
    assert (row["prompt"], row["response"]) == ("secret question", '[{"content":"因"}]')


def test_unusable_records_are_skipped_with_their_reason(as_file: AsFile) -> None:
    lines = [json.dumps(row).encode() for row in ROWS[:3]]
    data = lines[0] + b'\n{"foo": 1}\n' + lines[1] + b'{"foo": 1}\n' + lines[2] + b"\n"
    result = convert_chunk(task(as_file(data)))
    assert [row["reward"] for row in rows_of(result)] == [0.0, 1.0, 0.0]
    assert (result.ledger.read, result.ledger.repaired, result.ledger.skipped) == (2, 1, 1)
    skipped = [p for p in result.ledger.problems if p.kind == "skipped"]
    assert [(p.offset, p.reason) for p in skipped] == [(len(lines[0]) + 1, "unusable record: no output")]


def test_a_mapper_with_a_bug_does_not_stop_the_others(as_file: AsFile, use_mapper: UseMapper) -> None:
    class Fragile(Mapper):
        def __call__(self, record: dict[str, Any]) -> Any:
            return super().__call__({**record, "score": record["score"]["value"]})

    use_mapper(Fragile())
    result = convert_chunk(task(as_file([{**ROWS[0], "score": {"value": 1}}, ROWS[1], {"x": 1}])))
    assert [row["reward"] for row in rows_of(result)] == [1.0]
    assert [p.reason for p in result.ledger.problems] == [
        "unusable record: TypeError 'int' object is not subscriptable",
        "unusable record: KeyError 'score'",
    ]


def test_records_left_out_on_purpose_are_counted(as_file: AsFile) -> None:
    pad = {"input": "", "output": "", "step": 1}
    result = convert_chunk(task(as_file([ROWS[0], pad, pad, ROWS[1]])))
    assert (result.rows, result.ledger.dropped, result.ledger.read) == (2, 2, 4)
    assert [(text, r.count) for text, r in result.remarks.items()] == [("left out: padding row", 2)]


def test_totals_per_step(as_file: AsFile, use_mapper: UseMapper) -> None:
    use_mapper(Given("step", "split", "prompt", "response", "response_tokens", "reward", "completed_at"))
    data: list[dict[str, Any]] = [
        {
            "step": 1,
            "prompt": "ab",
            "response": "xyz",
            "response_tokens": 7,
            "reward": 0.5,
            "completed_at": 9.0,
        },
        {"step": 1, "prompt": "ab", "response": "x", "reward": 1.0, "completed_at": 11.5},
        {"step": 1, "split": "eval", "response": "xx", "response_tokens": 3},
        {"step": 2, "prompt": "abc", "response": None, "reward": math.nan},
        {"response": "x"},
    ]
    totals = convert_chunk(task(as_file(data))).totals
    assert list(totals) == [(1, "train"), (1, "eval"), (2, "train"), (None, "train")]
    first = totals[1, "train"]
    assert (first.rollouts, first.chars, first.chars_max, first.with_chars) == (2, 4, 3, 2)
    assert (first.prompt_chars, first.with_prompt, first.tokens, first.with_tokens) == (4, 2, 7, 1)
    assert (first.reward, first.with_reward, first.latest) == (1.5, 2, 11.5)
    second = totals[2, "train"]
    assert (second.rollouts, second.chars_max, second.with_chars, second.with_reward) == (1, None, 0, 0)
    both = first.plus(second)
    assert (both.rollouts, both.chars_max, both.prompt_chars, both.latest) == (3, 3, 7, 11.5)


def test_totals_do_not_depend_on_batches(as_file: AsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = convert_chunk(task(as_file(ROWS)))
    for name, value in (("MAX_ROWS", 3), ("MAX_BYTES", 100)):
        with monkeypatch.context() as patch:
            patch.setattr(columns, name, value)
            pieces = convert_chunk(task(as_file(ROWS)))
        assert len(list(pieces.batches())) > 4
        assert rows_of(pieces) == rows_of(whole)
        assert (pieces.totals, pieces.rows) == (whole.totals, whole.rows)


def test_token_basis(as_file: AsFile, use_mapper: UseMapper) -> None:
    use_mapper(Given("response", "response_tokens", "token_basis"))
    data: list[dict[str, Any]] = [
        {"response": "x", "response_tokens": 3},
        {"response": "x"},
        {"response_tokens": 3},
        {},
        {"response": "x", "response_tokens": 3, "token_basis": "tokenized"},
        {"response": "x", "response_tokens": math.nan},
    ]
    bases = [row["token_basis"] for row in rows_of(convert_chunk(task(as_file(data))))]
    assert bases == ["exact", "characters", "exact", None, "tokenized", "characters"]


def test_byte_ranges_give_the_same_rows(as_file: AsFile) -> None:
    file = as_file(ROWS)
    whole = rows_of(convert_chunk(task(file)))
    for cut in range(0, file.size, 37):
        parts = [convert_chunk(task(file, hi=cut)), convert_chunk(task(file, lo=cut))]
        assert [row for part in parts for row in rows_of(part)] == whole
        assert sum(part.ledger.read for part in parts) == 20


def test_documents_and_parquet(as_file: AsFile, tmp_path: Path) -> None:
    whole = rows_of(convert_chunk(task(as_file(ROWS))))
    for text in (json.dumps(ROWS), "\n".join(json.dumps(row, indent=2) for row in ROWS)):
        assert rows_of(convert_chunk(task(as_file(text.encode(), "x.json")))) == whole
    path = tmp_path / "x.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=6)
    file = sniff(str(path), "x.parquet")
    assert rows_of(convert_chunk(task(file))) == whole
    assert rows_of(convert_chunk(task(file, lo=1, hi=3))) == whole[6:18]
    assert rows_of(convert_chunk(task(file, lo=3))) == whole[18:]


def test_nothing_in_it(as_file: AsFile) -> None:
    for data in (b"", b"\n"):
        result = convert_chunk(task(as_file(data)))
        assert (result.ipc, result.rows, list(result.batches()), result.totals) == (b"", 0, [], {})


def test_what_holds_no_records_is_one_line(as_file: AsFile) -> None:
    with pytest.raises(InputProblem, match=r"1\.log is neither JSON nor Parquet"):
        convert_chunk(task(as_file(b"step:1 - a:1\n", "1.log")))


def test_columns_that_no_table_has(as_file: AsFile, use_mapper: UseMapper) -> None:
    use_mapper(Given("step", "lenght"))
    with pytest.raises(RollprofError, match="'fake' gives unknown columns: lenght"):
        convert_chunk(task(as_file(ROWS)))


def test_the_mapper_knows_its_file(
    as_file: AsFile, installed_adapter: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rollprof.adapters import registry

    monkeypatch.undo()  # the real mapper_for
    seen: list[Any] = []

    class Asked:
        def mapper(self, context: Any) -> Mapper:
            seen.append(context)
            return Mapper()

    monkeypatch.setattr(registry, "load", lambda name: Asked())
    from dataclasses import replace

    one = task(as_file(ROWS, "7.jsonl"), columns={"reward": "score"}, hints={"a": "run", "b": "run"})
    convert_chunk(replace(one, claim=claim(a="claim")))
    (context,) = seen
    assert (context.name, context.stem, context.split) == ("7.jsonl", "7", "train")
    assert context.columns == {"reward": "score"}
    assert context.hints == {"a": "claim", "b": "run"}
    assert context.keys == ("input", "output", "score", "step", "acc")


def test_memory_stays_flat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MAX_BYTES", 1 << 20)
    path = tmp_path / "1.jsonl"
    with path.open("w") as out:
        for i in range(2500):
            out.write(json.dumps({**ROWS[0], "output": f"{i} " + "y" * 10_000}) + "\n")
    file = sniff(str(path), "1.jsonl")
    convert_chunk(task(file, hi=1000))  # what is loaded once
    tracemalloc.start()
    result = convert_chunk(task(file))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.rows == 2500
    assert peak < 6e6 < file.size / 4


def test_corpus_of_damaged_lines(corpus: Path) -> None:
    lossy = {"trunc_last", "corrupt_mid", "corrupt_garbage", "null_row", "array_row"}
    for path in sorted((corpus / "edge_jsonl").glob("*.jsonl")):
        result = convert_chunk(task(sniff(str(path), path.name)))
        expected = 0 if path.stem in ("empty", "only_newline") else 20 - (path.stem in lossy)
        assert (path.stem, result.rows, result.ledger.skipped) == (
            path.stem,
            expected,
            int(path.stem in lossy),
        )
        rewards = [row["reward"] for row in rows_of(result)]
        if path.stem == "mixed_score":
            assert sum(rewards) == 17.5  # 5 x (1 + .5 + 1 + true)
        if path.stem == "bigint":
            assert [row["step"] for row in rows_of(result)].count(None) == 1
