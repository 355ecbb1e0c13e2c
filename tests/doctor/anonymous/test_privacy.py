"""Nothing private is in a sample: words, paths, hosts, users, tokens and token ids, in every kind of file."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest

from rollprof import api
from rollprof.errors import UsageProblem

WORDS = (
    "Marmalade",
    "Zanzibar",
    "flugelhorn",
    "alicesmith",
    "Qwirkle",
    "naïveté",
    "東京タワー",
    "hunter2pass",
)
PATHS = ("/home/alicesmith/Qwirkle", "s3://qwirkle-bucket/Zanzibar", "C:\\Users\\alicesmith")
HOSTS = ("gpu17.qwirkle.example", "192.168.37.241", "2001:db8:77::9")
SECRETS = (
    "hf_abcDEFghiJKLmnoPQRstuVWX",
    "sk-proj-9f8e7d6c5b4a39281706",
    "ghp_0123456789abcdefABCDEF0123456789abcd",
    "AKIAIOSFODNN7EXAMPLE",
    "0123456789abcdef0123456789abcdef01234567",
    "xoxb-987654321-marmalade",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2ln",
    "wandb_v1_abcdefghijklmnopqrstuvwx",
)
NUMBERS = ("4929123412341234", "5550142233")
TOKEN_IDS = [151644, 8948, 198, 2610, 525, 1207, 16948, 11, 3465, 553, 54364, 14817]
PRIVATE = (*WORDS, *PATHS, *HOSTS, *SECRETS, *NUMBERS, "qwirkle", "alicesmith", "zanzibar", "2233")
PROSE = (
    f"{' '.join(WORDS)} call {NUMBERS[1]} card {NUMBERS[0]} at {HOSTS[0]} from {PATHS[0]} with {SECRETS[0]}"
)

ROWS = [
    {
        "input": f"user\n{PROSE} {i}",
        "output": f"assistant\n{PROSE} \\boxed{{{NUMBERS[0]}}} {'x' * i}",
        "gts": NUMBERS[1],
        "score": 0.25 * (i % 5),
        "step": 1 + i // 8,
        "messages": [{"role": "user", "content": PROSE}],
        "answer": int(NUMBERS[0]),
        "data_source": "Qwirkle/Zanzibar",
        "api_key": SECRETS[1],
        "prompt_ids": TOKEN_IDS,
        PROSE: 3,
        "extra": {"host": HOSTS[1], "path": PATHS[2], SECRETS[2]: 1, "user": "alicesmith"},
    }
    for i in range(24)
]
CONSOLE = "\n".join(
    (
        f"+ python3 -m verl.trainer.main_ppo data.train_files={PATHS[0]}/train.parquet trainer.nnodes=2 "
        f"+ray.token={SECRETS[3]} data.max_response_length=512",
        f"\x1b[36m(TaskRunner pid=12, ip={HOSTS[1]})\x1b[0m {PROSE}",
        f"(TaskRunner pid=12, ip={HOSTS[1]}) [prompt] {PROSE}",
        f"(TaskRunner pid=12) {NUMBERS[0]}",
        "{'actor_rollout_ref': {'model': {'path': '" + PATHS[0] + "',",
        "                                 'token': '" + SECRETS[4] + "'},",
        f" 'trainer': {{'experiment_name': 'Zanzibar', 'nnodes': 2, 'host': \"{HOSTS[0]}\"}}}}",
        f"wandb: View run at https://wandb.ai/alicesmith/Qwirkle/runs/{WORDS[2]}",
        f"HF_TOKEN={SECRETS[0]} WANDB_API_KEY='{SECRETS[7]}' PASSWORD=hunter2pass",
        f"Namespace(pretrain='{PATHS[0]}', wandb_key='{SECRETS[4]}', user=alicesmith, rollout_batch_size=8)",
        f"Sample: ['{PROSE}', 1.0]",
        "Marmalade for Zanzibar:  45%|████▌     | 9/20 [00:12<00:10,  1.2it/s, user=alicesmith]",
        f"│ {PROSE[:60]} │ {SECRETS[1]} │ 0.5 │",
        f"requests.get('https://alicesmith:hunter2pass@{HOSTS[0]}/v1') File \"{PATHS[0]}/run.py\", line 3",
        f"{{'{PROSE}': 1, 'loss': 0.5, 'note': '{WORDS[0]}', 'reward': 0.1}}",
        "(TaskRunner pid=12) step:1 - critic/score/mean:0.5 - timing_s/gen:3.5 "
        f"- note:{WORDS[0]} - a/b:{SECRETS[3]}",
        f"INFO 11-30 21:04:55 ppo_trainer.py:551] {PROSE}",
        f'dont \'forget {WORDS[1]} it"s "{WORDS[2]}',
    )
)


def private_in(content: bytes) -> list[str]:
    """What of the private things stands in `content`, as written or escaped."""
    text = content.decode("utf-8", "replace").lower()
    return [p for p in PRIVATE if p.lower() in text or json.dumps(p)[1:-1].lower() in text]


def parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"step": 1, "prompt": r["input"], "completion": r["output"], "qwirkle reward": 0.5} for r in ROWS]
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"author": PROSE})
    pq.write_table(table, path)


def write_all(folder: Path) -> None:
    """Every kind of file, with private things wherever text can stand."""
    logs = folder / "alicesmith_Zanzibar"
    (logs / "rollouts").mkdir(parents=True)
    lines = "\n".join(json.dumps(r, ensure_ascii=i % 2 == 0) for i, r in enumerate(ROWS))
    (logs / "rollouts" / "1.jsonl").write_text(f"{lines}\n" + lines[:-200])
    (logs / "rollouts" / "2.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (logs / "console.log").write_text(CONSOLE)
    (logs / "mixed.jsonl").write_text(f"{lines}\n{CONSOLE}\n{lines}")
    (logs / "qwirkle.json").write_text(json.dumps(ROWS, indent=2))
    (logs / "config.yaml").write_text(
        f"model: {PATHS[0]}\nkey: {SECRETS[1]}\nnote: |\n  {PROSE}\nnodes: 2\n{PROSE}: 5\n- {PROSE}\n"
    )
    (logs / "history.csv").write_text(f'step,alicesmith - reward,note\n1,0.5,{WORDS[0]}\n2,0.7,"{PROSE}"\n')
    parquet(logs / "completions_00001.parquet")
    (logs / "weights.bin").write_bytes(b"\x80\x04\x95" + PROSE.encode() + bytes(range(256)))


def test_no_private_thing_survives(tmp_path: Path) -> None:
    write_all(tmp_path)
    assert private_in((tmp_path / "alicesmith_Zanzibar" / "console.log").read_bytes())
    made = api.anonymized([str(tmp_path)], "sample.zip")
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        names = archive.namelist()
        assert private_in("\n".join(names).encode()) == []
        kinds = {name.rpartition(".")[2] for name in names}
        assert kinds == {"jsonl", "log", "json", "yaml", "csv", "parquet"}
        for name in names:
            content = archive.read(name)
            assert private_in(content) == [], name
            if name.endswith("parquet"):
                assert_parquet_is_clean(content)
    assert [r for r in made.remarks if "weights.bin" in r] == [
        "alicesmith_Zanzibar/weights.bin: left out, a binary file"
    ]


def assert_parquet_is_clean(content: bytes) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(content))
    assert private_in(repr(table.to_pylist()).encode()) == []
    assert private_in(repr(table.schema.metadata).encode()) == []
    assert table.num_rows == len(ROWS)
    lengths = [len(text) for text in table["completion"].to_pylist()]
    assert lengths == [len(str(r["output"])) for r in ROWS]


def test_token_ids_are_texts_too(tmp_path: Path) -> None:
    log = tmp_path / "rollouts.jsonl"
    rows = [{"response": "a", "response_ids": TOKEN_IDS, "logprobs": [-0.5] * 12, "lens": TOKEN_IDS}] * 2
    log.write_text("".join(json.dumps(r) + "\n" for r in rows))
    first, second = api.anonymized([str(log)], "x.jsonl").content.decode().splitlines()
    masked = json.loads(first)
    assert len(masked["response_ids"]) == len(TOKEN_IDS)
    assert not set(masked["response_ids"]) & set(TOKEN_IDS) - {198, 11, 525, 553}
    assert masked["logprobs"] == [-0.5] * 12
    assert masked["lens"] == TOKEN_IDS
    assert first == second


def test_the_same_log_makes_the_same_sample(tmp_path: Path) -> None:
    write_all(tmp_path)
    assert api.anonymized([str(tmp_path)], "a.zip") == api.anonymized([str(tmp_path)], "b.zip")


def test_another_log_has_another_key(tmp_path: Path) -> None:
    """A guess at a prompt cannot be looked up: its mask depends on the rest of the log."""
    samples = []
    for i in range(2):
        log = tmp_path / f"{i}.jsonl"
        log.write_text(json.dumps({"prompt": PROSE, "response": "same"}) + "\n" + json.dumps(ROWS[i]) + "\n")
        samples.append(json.loads(api.anonymized([str(log)], "x.jsonl").content.splitlines()[0])["prompt"])
    assert samples[0] != samples[1]


def test_several_files_need_an_archive(tmp_path: Path) -> None:
    write_all(tmp_path)
    with pytest.raises(UsageProblem, match="need an archive"):
        api.anonymized([str(tmp_path)], "sample.log")


def test_only_binary_files_make_no_sample(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(b"\x80\x04\x95" + bytes(range(256)))
    with pytest.raises(UsageProblem, match="nothing here"):
        api.anonymized([str(tmp_path)], "sample.zip")
