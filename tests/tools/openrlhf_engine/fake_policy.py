"""OpenRLHF's policy actor with a network of one parameter that takes its time.

Loss, aggregation of metrics, progress bars and logging are OpenRLHF's own; forward and backward passes
sleep for as long as their tokens would take.
"""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import Any

import ray
import torch
import torch.distributed as dist
from openrlhf.models import PolicyLoss
from openrlhf.trainer.ray import ppo_actor

FORWARD_S = 5.0e-5
BACKWARD_S = 1.3e-4
"""Per token of a rank."""
BROADCAST_S = 1.2


class Network:
    """Random log-probabilities."""

    is_vlm = False
    model = None

    def __init__(self) -> None:
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.tokens = 0

    def train(self) -> None: ...

    def eval(self) -> None: ...

    def __call__(
        self, sequences: Any, action_mask: Any = None, attention_mask: Any = None, **options: Any
    ) -> Any:
        self.tokens = int(attention_mask.sum())
        time.sleep(FORWARD_S * self.tokens)
        logprobs = -0.5 * torch.rand(action_mask.shape) + self.weight
        if options.get("return_output"):
            return logprobs, SimpleNamespace(entropy=torch.rand(action_mask.shape), aux_loss=0)
        return logprobs


class _PolicyModelActor(ppo_actor.PolicyModelActor.__ray_metadata__.modified_class):  # type: ignore[misc]
    """The actor that OpenRLHF starts on every training GPU."""

    def init_model_from_pretrained(self, strategy: Any, *_: Any, **__: Any) -> None:
        torch.cuda.current_device = lambda: torch.device("cpu")
        torch.cuda.synchronize = torch.cuda.empty_cache = torch.cuda.set_device = lambda *_, **__: None
        args = strategy.args
        self.strategy = strategy
        dist.init_process_group("gloo", rank=self._rank, world_size=self._world_size)
        strategy.world_size = self._world_size
        mesh = dist.device_mesh.init_device_mesh
        strategy.ds_device_mesh = mesh("cpu", (self._world_size, 1, 1), mesh_dim_names=("dp", "sp", "tp"))
        micro = args.train.micro_batch_size * self._world_size
        strategy.accumulated_gradient = max(1, args.train.batch_size // micro)
        self.actor = Network()
        strategy.backward = lambda *_, **__: time.sleep(BACKWARD_S * self.actor.tokens)
        strategy.optimizer_step = lambda *_, **__: None
        strategy.get_grad_norm = lambda _: 0.31
        self.checkpoint_states = {}
        self.trainer = self._trainer(strategy, args)

    def _trainer(self, strategy: Any, args: Any) -> Any:
        trainer = ppo_actor.ActorPPOTrainer.__new__(ppo_actor.ActorPPOTrainer)
        trainer.strategy, trainer.args, trainer.actor = strategy, args, self.actor
        trainer.tokenizer = trainer.ema_model = trainer.actor_optim = trainer.vllm_engines = None
        trainer.generate_kwargs, trainer.dataloader_pin_memory = {}, False
        trainer.micro_train_batch_size, trainer.ema_beta = args.train.micro_batch_size, 0.99
        trainer.actor_scheduler = SimpleNamespace(get_last_lr=lambda: [1e-6])
        trainer.max_epochs, trainer.aux_loss = args.train.max_epochs, False
        trainer.actor_loss_fn = PolicyLoss(clip_eps_low=0.2, clip_eps_high=0.2)
        trainer.replay_buffer = _replay_buffer(args)
        return trainer

    def broadcast_to_vllm(self) -> None:
        time.sleep(BROADCAST_S)

    def save_model(self) -> None: ...

    def save_checkpoint(self, tag: str, **_: Any) -> None:
        time.sleep(float(os.environ.get("FAKE_CHECKPOINT_S", "2.5")))


def _replay_buffer(args: Any) -> Any:
    buffer = ppo_actor.NaiveReplayBuffer.__new__(ppo_actor.NaiveReplayBuffer)
    buffer.sample_batch_size, buffer.limit, buffer.cpu_offload = args.train.micro_batch_size, 0, True
    buffer.packing_samples, buffer.dynamic_batch = args.ds.packing_samples, args.train.dynamic_batch_enable
    buffer.target_device, buffer.items = torch.device("cpu"), []
    buffer.dynamic_indices, buffer.dynamic_sample_loss_scale = [], []
    buffer.dynamic_batch_num_tokens, buffer.dynamic_global_batch_size = [], []
    buffer.dynamic_optimizer_step = []
    return buffer


_PolicyModelActor.__name__ = _PolicyModelActor.__qualname__ = "PolicyModelActor"
PolicyModelActor = ray.remote(num_gpus=1)(_PolicyModelActor)
