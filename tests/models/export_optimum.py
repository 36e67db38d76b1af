"""Exports a language model as optimum-intel does: with its key-value cache in variables.

A GPT-2 of one layer, with random weights: IR in `optimum_gpt2`, whose inputs are input_ids,
attention_mask, position_ids and beam_idx, and whose output is logits.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import torch
from optimum.intel import OVModelForCausalLM
from transformers import GPT2Config, GPT2LMHeadModel


def main() -> None:
    """Exports it."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=64,
        n_positions=64,
        n_embd=16,
        n_layer=1,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        GPT2LMHeadModel(config).save_pretrained(folder / "torch")
        model = OVModelForCausalLM.from_pretrained(folder / "torch", export=True)
        model.save_pretrained(folder / "openvino")
        target = Path(__file__).with_name("optimum_gpt2")
        target.mkdir(exist_ok=True)
        for suffix in ("xml", "bin"):
            shutil.copy(folder / "openvino" / f"openvino_model.{suffix}", target)


if __name__ == "__main__":
    main()
