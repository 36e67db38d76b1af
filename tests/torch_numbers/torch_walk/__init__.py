"""A walk of torch's random calls by every road: `test_torch_walk.py` takes a slice,
`walk_torch_calls.py` the whole. `meaning` draws what a call means (the reference's draws, in
torch's own run of the module), and `known` lists what does not hold."""
