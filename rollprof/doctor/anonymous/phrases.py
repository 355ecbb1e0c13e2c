"""Words that frameworks and engines print, with the numbers in them: no place for anybody's own in any."""

from __future__ import annotations

_VERL = (
    r"step:\d{1,12}(?= -|\s*$)",
    r"Training Progress",
    r"pending: \d+, running: \d+, finished: \d+, failure: \d+",
    r"Loop collection completed: \d+/\d+ samples, total wait time: [\d.]+ seconds",
    r"Setting global step to \d+",
    r"Total training steps: \d+",
    r"Dumped generations to",
    r"Creating file logger at",
    r"\[FullyAsync(?:Trainer|Rollouter)\]",
    r"\bpython3? -m (?:verl|recipe)(?:\.\w+)*",
)
_OPENRLHF = (
    r"✨|🚀|⏰",
    r"Global step \d+(?: \[\w+\])?:",
    r"Eval at step \d+:",
    r"Starting async evaluation\.\.\.",
    r"Evaluation start time",
    r"(?:Async e|E)valuation completed(?: in [\d:]+)?(?:, global_step \d+)?(?:, eval_metrics)?",
    r"Starting experience making with \d+ samples",
    r"Experience making completed in(?: \d+ days?,)? [\d:]+",
    r"Dynamic filtering pass rate: [\d.]+% \(\d+/\d+\)",
    r"filtered_samples [\d.]+ < rollout_batch_size \d+|continue sampling",
    r"Filtered out: |avg_reward=[\d.]+|threshold=\([\d., ]+\)",
    r"Queue is full, waiting for training to consume samples",
    r"\[(?:DAPO Overlong|ProRL Stop Properly) Penalty\] \d+/\d+ samples (?:penalized|truncated)",
    r"Sample: ",
    r"Prompt dataloader is exhausted\.",
    r"New best eval metric|Saved best checkpoint",
    r"(?<![A-Za-z])namespace\(",
)
_TRL = (
    r"\*{5} Running (?:training|Evaluation) \*{5}",
    r"Saving model checkpoint to",
    r"library_name: transformers",
    r"^- (?:trl|grpo|rloo|ppo|online-dpo|async-grpo|generated_from_trainer)\s*$",
    r"╭─+ Step \d+ ─+╮",
)
_ENGINES = (
    r"Initializing a V\d LLM engine \(v[\d.]+\)|LLM engine \(v[\d.]+\)",
    r"It took [\d.]+ seconds to (?:fall asleep|wake up)",
    r"Engine \d+:|\d+ Engines Aggregated:|tokens/s",
    r"(?:Running|Waiting|Pending|Swapped|Deferred): \d+ reqs",
    r"Iteration\(\d+\):|\d+ (?:context|generation) (?:requests?|tokens?)",
    r"iteration elapsed time: [\d.]+ ms",
    r"(?:Decode|Prefill) batch(?: \[\d+\])?[.,]",
    r"non-default args:|server_args=ServerArgs\(",
)
_BARS = (
    r"(?:Generate samples|Processed prompts|Generate Episode|Episode|Train epoch|Generating|Rewarding"
    r"|forward|append|make_experience|Map)(?: \[\d+/\d+\])?(?=:\s+\d{1,3}%\|)",
    r"\d{1,3}%\|[^|\r\nA-Za-z]{0,400}\|",
    r"\d{1,12}/\d{1,12} (?=\[)",
    r"\[(?:\d+:)?\d+:\d+<(?:\?|[\d:]{1,12})?",
    r"[\d.?]+ ?(?:it/s|s/it|toks/s)",
    r"est\. speed(?= input:)",
)
PHRASES: tuple[str, ...] = (*_VERL, *_OPENRLHF, *_TRL, *_ENGINES, *_BARS)

VALUED: tuple[str, ...] = (
    r"Instantaneous batch size per device = |Batch size per device = ",
    r"Total (?:train )?batch size \([\w ,.&x/]{0,80}\) = ",
    r"Num (?:examples|Epochs) = ",
    r"Gradient Accumulation steps = |Total optimization steps = ",
    r"Data Parallel GPUs = |Num GPUs used = ",
    r"(?:TRL|Transformers|Pytorch|Datasets|Tokenizers|vLLM): |Unsloth (?=\d)",
    r"\b(?:trl|transformers|vllm)==",
    r"Avg (?:prompt|generation) throughput: ",
    r"(?:GPU |CPU )?KV cache usage: |Preemptions: |Prefix cache hit rate: ",
    r"#(?:running|queue|retracted|new|cached)-(?:req|seq|token|tokens): |#token: |token usage: ",
    r"(?:gen|input) throughput \(token/s\): |cuda graph: |accept len: ",
    r"(?<=speed )input: |(?<=toks/s, )output: ",
)
"""Words that a number, a release or a truth value follows."""
