"""Figures of idle GPUs. Formulas and their derivations: the definitions in the documentation."""

from __future__ import annotations

from rollprof.analyzers.figure_spec import FigureSpec

_TIMES = ("rollouts.started_at", "rollouts.completed_at")
_SAMPLES = ("engines.time", "engines.running", "engines.waiting")
_DURATIONS = ("rollouts.generate_s",)
_ROLLOUT_TIMES = ("steps.rollout_s_mean", "steps.rollout_s_max")
_LENGTHS = ("rollouts.response_tokens",)
_AGGREGATES = ("steps.response_tokens_mean", "steps.response_tokens_max", "steps.rollouts")
_LENGTHS_AND_DURATION = ("rollouts.response_tokens", "steps.generate_s")

_GPU_SECONDS = "weighted by GPU-seconds (capacity x time), never averaged as ratios"

SLOT_IDLE = FigureSpec(
    "slot_idle",
    "fraction",
    "1 - integral of min(n(t), C) dt / (C*T);  n(t) rollouts submitted and not complete, "
    "C = min(N, engines * max_num_seqs), T from the first start to the last completion",
    _GPU_SECONDS,
    (_TIMES, _SAMPLES, _DURATIONS, _ROLLOUT_TIMES, _LENGTHS_AND_DURATION, _LENGTHS, _AGGREGATES),
    True,
    "Share of decode slots that stood empty while a step waited for its last rollout, the 'bubble ratio' of "
    "several papers. It is the largest of the idle figures and overstates what can be won: a decode step "
    "with "
    "few rollouts is cheaper than one with many, so empty slots are not empty seconds. Read it with "
    "effective_idle, which is what the same tokens would have saved at this run's own full batch.",
    "bubble ratio: SortedRL (2603.23414); response-slot bubble: our own label",
    (
        (
            "measured",
            "each rollout's start and end, or samples of the engines: within max(.03, .75 * tick / T), none "
            "where the tick is more than .3 of the generation",
        ),
        (
            "logged",
            "1 - mean/max of the logged per-rollout times (bound lower where requests may queue), or each "
            "rollout's duration in a synchronous step",
        ),
        ("calibrated", "lengths replayed on a decode cost fitted to the steps' durations, with skill"),
        (
            "modelled",
            "lengths alone: no value, the bracket [Gini(L), max(1 - mean/max, I_ctx)]; its upper end with "
            "--idle-figure slot_idle --allow-modelled",
        ),
    ),
)

EFFECTIVE_IDLE = FigureSpec(
    "effective_idle",
    "fraction",
    "w_a * (1 - sum(L)/(C*M));  M decode steps, w_a = a*M/T the share of generation time that does not "
    "depend "
    "on how many rollouts run",
    _GPU_SECONDS,
    ((*_TIMES, "rollouts.response_tokens"), _LENGTHS_AND_DURATION),
    True,
    "What stragglers cost: the share of generation time that the same tokens would have saved had they been "
    "decoded at this run's own full batch. No remedy that keeps the work in flight can be faster than "
    "1/(1 - effective_idle). Needs the decode cost a + b*B + c*S of this run, fitted to its own times, and "
    "counts only where that fit predicts better than a constant does.",
    "linear decode cost: BLIS, Vidur, StreamRL (2504.15930); waste = 1 - T_ideal/T: ByteDance (2505.05713)",
    (("calibrated", "a decode cost fitted to per-rollout times, or to the steps' durations, with skill"),),
)

ENGINE_IDLE = FigureSpec(
    "engine_idle",
    "fraction",
    "1 - sum(T_e) / (E*T);  T_e when engine e finishes its last rollout, E engines",
    _GPU_SECONDS,
    (
        (*_TIMES, "rollouts.engine"),
        _SAMPLES,
        ("steps.engine_s_mean", "steps.engine_s_max"),
        (*_TIMES, "fact.engines"),
    ),
    True,
    "Engines with nothing at all to run while the step waits for the slowest engine: the part of the idle "
    "time "
    "that is truly dark. It is the lower bound of the idle figures; better placement can win it back.",
    "instance idle: Seer (2511.14617); inter-instance bubble: DORA (2604.26256)",
    (
        (
            "measured",
            "each rollout's end and the engine that served it, a single engine, or samples of every engine",
        ),
        ("logged", "1 - mean/max of the logged time that each engine generated"),
    ),
)

GENERATION_IDLE = FigureSpec(
    "generation_idle",
    "fraction",
    "effective_idle where the decode cost is known with skill; else slot_idle, measured or logged (bound "
    "upper); else the bracket of slot_idle",
    _GPU_SECONDS,
    (_TIMES, _LENGTHS_AND_DURATION, _ROLLOUT_TIMES, _LENGTHS, _AGGREGATES),
    True,
    "Idle share of the generation phase: the best figure that the input allows. Where only slot_idle is "
    "known "
    "it is an upper bound, and its interval reaches down to what is known to be truly idle.",
    "",
    (
        ("measured", "slot_idle from each rollout's start and end (bound upper)"),
        ("logged", "slot_idle from logged per-rollout times (bound upper)"),
        ("calibrated", "effective_idle"),
        ("modelled", "the bracket of slot_idle from lengths"),
    ),
)

STEP_IDLE = FigureSpec(
    "step_idle",
    "fraction",
    "same GPUs generate and train: generation_idle * generate_s / step_s;  separate GPUs: (G_rollout * "
    "rollout_idle + G_trainer * trainer_idle) / (G_rollout + G_trainer)",
    _GPU_SECONDS,
    (
        (*_TIMES, "steps.generate_s", "steps.step_s"),
        (*_LENGTHS, "steps.generate_s", "steps.step_s"),
        (*_ROLLOUT_TIMES, "steps.generate_s", "steps.step_s"),
        ("steps.trainer_idle", "steps.rollout_idle", "fact.trainer_gpus", "fact.rollout_gpus"),
    ),
    True,
    "The headline: share of all GPU time of the run that was lost because GPUs waited. Phases other than "
    "generation count as busy. Separate rollout GPUs are idle outside generation and by generation_idle "
    "inside it; separate trainer GPUs are idle while they wait. Asynchronous runs have no barrier: there it "
    "is the two sides' own waiting, weighted by their GPUs.",
    "",
    (
        ("measured", "generation_idle measured, with logged phase times the figure is logged"),
        ("logged", "logged phase times with measured or logged generation_idle, or logged idle shares"),
        ("calibrated", "logged phase times with effective_idle"),
        ("modelled", "logged phase times with the bracket of slot_idle"),
    ),
)

TRAINER_IDLE = FigureSpec(
    "trainer_idle",
    "fraction",
    "time the trainer waited for rollouts / wall time of the step",
    _GPU_SECONDS,
    (("steps.trainer_idle",), ("steps.wait_s", "steps.step_s"), ("steps.generate_s", "steps.step_s")),
    True,
    "How much of its time the trainer had nothing to do because rollouts were not ready: asynchronous and "
    "disaggregated runs. With synchronous steps on separate GPUs the trainer waits through generation.",
    "verl fully asynchronous trainer: timing_s/gen / timing_s/step",
    (("logged", "the framework's own idle ratio, or its waiting time over its step time"),),
)

ROLLOUT_IDLE = FigureSpec(
    "rollout_idle",
    "fraction",
    "time the rollout side was paused or waited / wall time;  with synchronous steps on separate GPUs: "
    "1 - (1 - generation_idle) * generate_s / step_s",
    _GPU_SECONDS,
    (("steps.rollout_idle",), ("steps.generate_s", "steps.step_s", "fact.rollout_gpus")),
    True,
    "How much of its time the rollout side (the inference engines) produced nothing: paused for weights, "
    "with "
    "a full queue, or waiting for stragglers.",
    "verl fully asynchronous trainer: 1 - active_time/version_time",
    (("logged", "the framework's own idle ratio"), ("calibrated", "phase times with effective_idle")),
)

THROUGHPUT_IDLE = FigureSpec(
    "throughput_idle",
    "fraction",
    "1 - mean(tokens/s) / p95(tokens/s) over the generation phase",
    _GPU_SECONDS,
    (("engines.time", "engines.generation_tokens_s"),),
    True,
    "Decode capacity that was not used, judged by the engines' own best throughput in this run.",
    "",
    (("measured", "samples of the inference engines over time"),),
)

GPU_UTIL_IDLE = FigureSpec(
    "gpu_util_idle",
    "fraction",
    "share of GPU samples under 5 % utilisation in the window",
    _GPU_SECONDS,
    (("gpus.time", "gpus.utilization"),),
    True,
    "GPU samples with (almost) no kernel running. A lower bound: 'utilisation' counts any kernel, however "
    "small, so a GPU that decodes one straggler reads as busy.",
    "",
    (("measured", "GPU telemetry"),),
)

RECOVERABLE = FigureSpec(
    "recoverable",
    "fraction",
    "1 - T_ideal/T;  T the slowest engine's modelled time, T_ideal with the barrier kept and the work "
    "perfectly balanced over the engines: k0 + a*max(M_min, longest) + b*sum(L)/E + c*Q/E",
    _GPU_SECONDS,
    ((*_TIMES, "rollouts.engine", "rollouts.response_tokens"),),
    True,
    "What placement alone could win back: the same rollouts, the same barrier, spread evenly over the "
    "engines. "
    "One long rollout cannot be split, so it is often far below effective_idle.",
    "S = T/T_ideal: ByteDance (2505.05713)",
    (("calibrated", "a decode cost fitted to per-rollout times and the engine of each rollout"),),
)

GPU_HOURS_LOST = FigureSpec(
    "gpu_hours_lost",
    "h",
    "sum over steps of step_idle * gpus * step_s / 3600 (generation_idle * generate_s without step times)",
    "sum",
    (("steps.step_s", "steps.generate_s", "fact.gpus"), (*_TIMES, "fact.gpus")),
    True,
    "GPU-hours of this log that were paid for and lost to waiting. Basis and bound are those of the idle "
    "figure it is made of.",
    "",
    (
        ("logged", "the idle figure is measured or logged"),
        ("calibrated", "the idle figure is calibrated"),
        ("modelled", "the idle figure is a bracket"),
    ),
)

COST_LOST = FigureSpec(
    "cost_lost",
    "money",
    "gpu_hours_lost * price of a GPU-hour (--gpu-hour-cost)",
    "sum",
    (("steps.step_s", "steps.generate_s", "fact.gpus", "fact.gpu_hour_cost"),),
    True,
    "GPU-hours lost, in the currency of the price given.",
    "",
    (("logged", "as gpu_hours_lost"),),
)

IDLE_FIGURES: tuple[FigureSpec, ...] = (
    STEP_IDLE,
    GENERATION_IDLE,
    ENGINE_IDLE,
    EFFECTIVE_IDLE,
    SLOT_IDLE,
    THROUGHPUT_IDLE,
    TRAINER_IDLE,
    ROLLOUT_IDLE,
    GPU_UTIL_IDLE,
    RECOVERABLE,
    GPU_HOURS_LOST,
    COST_LOST,
)
