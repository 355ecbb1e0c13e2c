"""Numbers that papers and projects have published, beside what the replays make of them.

`python tests/validation/published.py --write` puts the table into docs/validation.md. Nothing is tuned to the
published numbers: lengths come from the distributions that the sources print, or from two that they do not
rule out, and misses stay in the table.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rollprof.model.decode import DecodeCost
from rollprof.whatif.compose import parse
from rollprof.whatif.evaluate import Evaluator
from rollprof.whatif.outcome import Outcome
from rollprof.whatif.setting import Engines, Setting, Trainer
from rollprof.whatif.workload import Workload, make_workload

PAGE = Path(__file__).resolve().parents[2] / "docs" / "validation.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->"


@dataclass(frozen=True)
class Row:
    """One published number. `allowed` is the relative deviation that is accepted; None: shown only. A
    published range is met inside it."""

    source: str
    what: str
    published: float | tuple[float, float]
    replay: float
    allowed: float | None = None
    held: bool = True
    """Whether a miss fails the tests. Others are shown, and say that they miss."""

    @property
    def deviation(self) -> float:
        """Relative to the published number, or to the nearer end of a range; 0 inside it."""
        if isinstance(self.published, tuple):
            low, high = self.published
            near = min(max(self.replay, low), high)
            return self.replay / near - 1
        return self.replay / self.published - 1

    @property
    def verdict(self) -> str:
        if self.allowed is None:
            return "shown only"
        met = abs(self.deviation) <= self.allowed + 1e-12
        return ("met" if met else "missed") + ("" if self.held else ", not held")

    def cells(self) -> tuple[str, ...]:
        known = (
            f"{self.published[0]:g} to {self.published[1]:g}"
            if isinstance(self.published, tuple)
            else f"{self.published:g}"
        )
        allowed = "" if self.allowed is None else f"{self.allowed:.0%}".replace("%", " %")
        return (
            self.source,
            self.what,
            known,
            f"{self.replay:.3g}",
            f"{100 * self.deviation:+.0f} %",
            allowed,
            self.verdict,
        )


def play(w: Workload, engines: Engines, policy: str, trainer: Trainer | None = None, **more) -> Outcome:
    s = Setting(w, engines, trainer or Trainer(), **more)
    c = parse(policy)
    return c.play(c.prepared(s))


# 1. verl issue 658: three workers of one rollout, seconds, longest response, all tokens
WORKERS = np.array([(73.067, 3768, 28_013), (118.574, 6233, 42_765), (166.683, 8412, 41_247)])


def slope_and_r2() -> tuple[float, float, float]:
    """Seconds per token of the longest response, through the origin; R2 of longest and of all tokens."""
    t, longest, total = WORKERS.T
    slope = float(t @ longest / (longest @ longest))

    def r2(x):
        line = np.polyfit(x, t, 1)
        return 1 - float(((np.polyval(line, x) - t) ** 2).sum() / ((t - t.mean()) ** 2).sum())

    return slope, r2(longest), r2(total)


def issue_658() -> list[Row]:
    slope, by_longest, by_total = slope_and_r2()
    rows = [Row("verl issue 658", "ms per token of the longest response", 19.5, slope * 1e3, 0.03)]
    for seconds, longest, _ in WORKERS.tolist():
        w = make_workload(np.array([longest]), np.array([1]), np.array([1]))
        o = play(w, Engines(DecodeCost(0.0, slope, 0.0, 0.0)), "baseline")
        rows.append(
            Row("verl issue 658", f"s, longest {longest:.0f} tokens", seconds, o.total("generate_s"), 0.03)
        )
    rows.append(Row("verl issue 658", "R2 of the longest response", 0.997, by_longest, 0.01))
    rows.append(Row("verl issue 658", "R2 of all tokens", 0.65, by_total, 0.05))
    return rows


# 2. verl's table of one step off: step, generation and log-probabilities + update of the asynchronous run;
# what the synchronous run does not explain by its parts is paid in every step
ONE_STEP = (
    ("FSDP2", 520, 458, 108 + 337, 749 - 321 - 88 - 286),
    ("Megatron", 566, 501, 120 + 347, 699 - 207 - 119 - 344),
)


def one_step_off() -> list[Row]:
    rows = []
    for name, step, generate, train, rest in ONE_STEP:
        w = make_workload(np.full(4, generate), np.full(4, 1), np.full(4, 1))
        trainer = Trainer(train / generate, rest, known=True, apart=True)
        o = play(w, Engines(DecodeCost(0.0, 1.0, 0.0, 0.0)), "one-step-off", trainer)
        rows.append(
            Row("verl one-step-off", f"s per step, {name}", step, float(o.column("step_s").mean()), 0.10)
        )
    return rows


# 3. RollPacker figure 11, 16k
P0, R0, CAP16 = 128, 8, 16_384
FIG_11 = {
    (1.0, 1.125): 260,
    (1.0, 1.25): 232,
    (1.0, 1.5): 115,
    (1.125, 1.0): 244,
    (1.25, 1.0): 169,
    (1.5, 1.0): 143,
    (1.25, 1.25): 88,
}
FIG_11_BASE = 277
Lengths = Callable[[np.random.Generator, int, int], np.ndarray]


def clustered(mean: float, total: float) -> Lengths:
    """Some prompts are long: each has its own share of tail responses, Beta with this mean and sum."""

    def lengths(rng: np.random.Generator, groups: int, n: int) -> np.ndarray:
        body = 550 * np.exp(rng.normal(0, 0.78, (groups, n)))
        share = rng.beta(mean * total, (1 - mean) * total, (groups, 1))
        return np.where(rng.random((groups, n)) < share, rng.uniform(4000, 20_000, (groups, n)), body)

    return lengths


def pooled(lengths: Lengths) -> Lengths:
    """The same responses, dealt to prompts at random: what a replay must not do."""

    def dealt(rng: np.random.Generator, groups: int, n: int) -> np.ndarray:
        found = lengths(rng, groups, n)
        return rng.permutation(found.ravel()).reshape(found.shape)

    return dealt


def independent(rng: np.random.Generator, groups: int, n: int) -> np.ndarray:
    """Every tenth response is long, whatever its prompt: log-uniform from 2k to the cap."""
    body = 550 * np.exp(rng.normal(0, 0.6, (groups, n)))
    long = np.exp(rng.uniform(np.log(2000), np.log(CAP16), (groups, n)))
    return np.where(rng.random((groups, n)) < 0.1, long, body)


def figure_11(lengths: Lengths, eta_p: float, eta_r: float, seeds: int = 12) -> float:
    """The time of a round over the baseline's, each as the paper's own script estimates it: the longest of
    the short rounds and the longest of the long ones, over 10 iterations; the baseline is the longest of 10.
    """
    launched = int(np.ceil(eta_r * R0 - 1e-9))
    engines = Engines(DecodeCost(0.0, 7.36e-3, 4.4e-6, 57e-9), 16)
    ratios = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        groups = 20 * P0
        L = np.minimum(np.rint(lengths(rng, groups, launched)), CAP16)
        w = make_workload(L.ravel(), np.full(20, P0), np.full(groups, launched), prompts=np.full(L.size, 200))
        o = play(w, engines, f"rollpacker:eta_p={eta_p},eta_r={eta_r}", warm_up=0, fewest_rounds=20)
        base = make_workload(
            L[:, :R0].ravel(), np.full(20, P0), np.full(groups, R0), prompts=np.full(groups * R0, 200)
        )
        b = play(base.head(10), engines, "baseline").column("generate_s").max()
        time, dropped = o.column("generate_s"), o.column("dropped")
        short = time[:10][dropped[:10] > 0].max() if launched > R0 or eta_p > 1 else time[:10].max()
        estimate = short
        if eta_p > 1:
            shorts = round(1 / (eta_p - 1))
            long = time[dropped == 0]
            estimate = (short * shorts + (long[:10].max() if len(long) else b)) / (shorts + 1)
        ratios.append(estimate / b)
    return float(np.mean(ratios))


MODELS: dict[str, Lengths] = {
    "clustered .06": clustered(0.06, 0.4),
    "clustered .02": clustered(0.02, 0.3),
    "clustered .10": clustered(0.10, 0.5),
    "independent": independent,
}
"""All have the printed quartile (755 to 1.1k) and longest over median (25 to 32). The first is the middle of
what a clustered tail can be; it is held to 25 % but for 1.5 times the responses, the others are shown."""


def rollpacker() -> list[Row]:
    rows = []
    for model, lengths in MODELS.items():
        for (eta_p, eta_r), seconds in FIG_11.items():
            got = FIG_11_BASE * figure_11(lengths, eta_p, eta_r)
            held = model == "clustered .06" and eta_r < 1.5
            what = f"s, prompts {eta_p:g}, responses {eta_r:g}; {model}"
            rows.append(Row("RollPacker fig. 11, 16k", what, seconds, got, 0.25, held))
    return rows


def group_guard() -> tuple[float, float]:
    """Time with 1.25 times the responses on one clustered log: by groups, and pooled."""
    lengths = clustered(0.02, 0.3)
    return figure_11(lengths, 1.0, 1.25), figure_11(pooled(lengths), 1.0, 1.25)


# 4. APRIL: 32 x 8, 64 in flight, cap 16k
def april_gain(median: float, b: float, resume: float = 0.0) -> float:
    rng = np.random.default_rng(0)
    S, G, n = 60, 32, 8
    prompt = rng.normal(0, (0.7 * 0.7**0.5), (S * G, 1))
    L = np.minimum(median * np.exp(prompt + rng.normal(0, 0.7 * 0.3**0.5, (S * G, n))), 16_384)
    w = make_workload(L.ravel(), np.full(S, G), np.full(S * G, n), prompts=np.full(L.size, 200))
    s = Setting(w, Engines(DecodeCost(0.0, 4.5e-3, b, 86e-9), 4, None, resume))
    found = Evaluator(s).result(parse("april:over=2"), intervals=False).generation_speedup
    assert found is not None
    return found


def april() -> list[Row]:
    rows = [
        Row(
            "APRIL, Qwen3-4B",
            f"gain, median {median}, b {b * 1e6:.0f} us",
            (1.17, 1.35),
            april_gain(median, b),
            0.10,
        )
        for median in (5000, 7000, 9000)
        for b in (4e-6, 80e-6)
    ]
    rows.append(
        Row(
            "APRIL, Qwen3-4B",
            "gain, median 7000, b 30 us, resumed rollouts prefill at b",
            (1.17, 1.35),
            april_gain(7000, 30e-6, 30e-6),
        )
    )
    return rows


# 5. Seer: requests, instances, cap, mean length, published share of the last tenth
SEER = (
    ("Moonlight", 3200, 32, 65_536, 22_386, 0.465),
    ("Qwen2-VL-72B", 9600, 16, 40_960, 7615, 0.582),
    ("Kimi-K2", 6400, 8, 98_304, 38_959, 0.258),
)


def capped_lognormal(mean: float, cap: float, sd: float, z: np.ndarray) -> np.ndarray:
    """Log-normal lengths cut at the cap, the median such that their mean is this."""
    low, high = 1.0, cap * 50
    for _ in range(60):
        middle = (low * high) ** 0.5
        if np.minimum(middle * np.exp(sd * z), cap).mean() > mean:
            high = middle
        else:
            low = middle
    return np.minimum(low * np.exp(sd * z), cap)


def tail_share(requests: int, engines: int, cap: float, mean: float) -> float:
    """Share of the time in which the last tenth of the requests completes; half of them have slots."""
    rng = np.random.default_rng(0)
    L = capped_lognormal(mean, cap, 0.8, rng.normal(0, 1, requests))
    w = make_workload(L, np.array([requests]), np.ones(requests, np.int64), prompts=np.full(requests, 500))
    slots = max(1, requests // engines // 2)
    s = Setting(w, Engines(DecodeCost(0.0, 1.0, 0.001, 0.0), engines, slots))
    done = np.sort(s.drain(w.step_rows(0)).finish)
    return float(1 - done[int(np.ceil(0.9 * requests)) - 1] / done[-1])


def probe_over_oracle() -> float:
    """What sending one probe per prompt ahead gains, over what knowing every length would."""
    rng = np.random.default_rng(0)
    S, G, n = 10, 64, 8
    prompt = rng.normal(0, 0.8 * 0.95**0.5, (S * G, 1))
    L = np.minimum(3000 * np.exp(prompt + rng.normal(0, 0.8 * 0.05**0.5, (S * G, n))), 40_960)
    w = make_workload(L.ravel(), np.full(S, G), np.full(S * G, n))
    s = Setting(w, Engines(DecodeCost(0.0, 7.2e-3, 15e-6, 0.0), 4, 64))
    pace = [
        Evaluator(s).result(parse(f"length-aware:by={by}"), intervals=False).speedup or 0.0
        for by in ("probe", "oracle")
    ]
    return pace[0] / pace[1]


def seer() -> list[Row]:
    rows = [
        Row("Seer", f"share of the last tenth, {name}", share, tail_share(n, e, cap, mean), 0.25)
        for name, n, e, cap, mean, share in SEER
    ]
    return [*rows, Row("Seer", "probe over oracle, high ICC", (0.9, 1.0), probe_over_oracle(), 0.0)]


# 6. DAPO: 32 of 96 prompts a round, 31.6 % kept
def dapo() -> list[Row]:
    rng = np.random.default_rng(0)
    S, N = 300, 96
    mixed = rng.random(S * N) < 182 / 576
    reward = np.column_stack([mixed.astype(float), np.zeros(S * N)]).ravel()
    sizes = np.full(S * N, 2)
    w = make_workload(np.ones(2 * S * N), np.full(S * 3, 32), sizes, reward=reward)
    o = play(w, Engines(DecodeCost(0.0, 1.0, 0.0, 0.0)), "dapo:mode=rounds,oversample=3")
    rounds = float(o.column("generate_s").mean())
    return [
        Row("DAPO-32B trace", "rounds per step, binomial expectation", 1.61, rounds, 0.05),
        Row("DAPO-32B trace", "rounds per step, observed over 4 steps", 1.5, rounds),
    ]


SECTIONS: Sequence[Callable[[], list[Row]]] = (issue_658, one_step_off, rollpacker, april, seer, dapo)


@functools.cache
def rows() -> tuple[Row, ...]:
    """The whole table."""
    return tuple(row for section in SECTIONS for row in section())


def table() -> str:
    """As Markdown."""
    head = ("source", "what", "published", "replay", "deviation", "allowed", "")
    lines = [head, ("---",) * len(head), *(row.cells() for row in rows())]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def written(page: str) -> str:
    """The page with the table put in."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    print(table())
    if "--write" in sys.argv:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
