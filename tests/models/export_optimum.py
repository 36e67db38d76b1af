"""Exports a language model as optimum-intel does: with its key-value cache in variables.

A GPT-2 of one layer, with random weights: IR in `optimum_gpt2`, whose inputs are input_ids,
attention_mask, position_ids and beam_idx, and whose output is logits.
"""

import shutil
import tempfile
from pathlib import Path

import torch
from optimum.intel import OVModelForCausalLM
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
sizes = {"vocab_size": 64, "n_positions": 64, "n_embd": 16, "n_layer": 1, "n_head": 2}
(target := Path(__file__).with_name("optimum_gpt2")).mkdir(exist_ok=True)
with tempfile.TemporaryDirectory() as name:
    made = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
    made.save_pretrained(f"{name}/torch")
    exported = OVModelForCausalLM.from_pretrained(f"{name}/torch", export=True)
    exported.save_pretrained(f"{name}/openvino")
    for suffix in ("xml", "bin"):
        shutil.copy(f"{name}/openvino/openvino_model.{suffix}", target)
