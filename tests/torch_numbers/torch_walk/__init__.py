"""Tries every random call of torch on every road, which is a way to bring a module to a runtime.

`test_torch_walk.py` takes a part of them, `walk_torch_calls.py` all. `meaning` computes what a call
means: torch itself runs the module, with the reference's draws. `known` lists what does not hold.
"""
