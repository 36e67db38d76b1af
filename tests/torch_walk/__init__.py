"""A walk of torch's random calls by every road: `tests/test_torch_walk.py` takes a
slice, `tests/walk_torch_calls.py` the whole.

`meaning` draws what a call means (the reference's draws, in torch's own run of the module), `roads`
runs a module by each road, `walking` compares, `cases` lists the calls and `modules` whole modules.
`known` lists what does not hold.
"""
