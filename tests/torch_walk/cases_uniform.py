"""Uniform numbers, integers and permutations."""

from __future__ import annotations

from torch_walk.table import Table

TABLE = Table(globals())
TABLE.rows("""
rand | torch.rand(x.shape[0], 4, dtype=t) | types=FLOATS
rand of a size | torch.rand((2, 3), dtype=t) | types=FLOATS
rand generator=None | torch.rand(x.shape, generator=None, dtype=t) | types=FLOATS
rand out= | torch.rand(2, 3, out=torch.empty(2, 3))
rand generator=None out= | torch.rand(2, 3, generator=None, out=torch.empty(2, 3))
rand of a scalar | torch.rand(())
rand of no elements | torch.rand(0, 3)
rand of a generator | torch.rand(2, 3, generator=torch.Generator()) | call=("rand", "Generator")
rand_like | torch.rand_like(x.to(t)) | types=FLOATS
rand_like dtype= | torch.rand_like(x, dtype=t) | types=FLOATS
rand_like generator=None | torch.rand_like(x, generator=None)
rand_like out of a view | torch.rand_like(x.t())
rand_like of a permute | torch.rand_like(x.reshape(-1, 2, 2).permute(1, 2, 0))
rand_like of channels_last
| torch.rand_like(x.reshape(-1, 2, 2, 1).contiguous(memory_format=torch.channels_last))
rand_like memory_format=channels_last
| torch.rand_like(x.reshape(-1, 2, 2, 1), memory_format=torch.channels_last)
rand_like of a row's transpose | torch.rand_like(x[:1].t())
rand_like contiguous | torch.rand_like(x.t(), memory_format=torch.contiguous_format)
rand_like of an expand | torch.rand_like(x[:, :1].expand(-1, 4))
rand_like of a slice | torch.rand_like(x[:, 1:3])
uniform_ | torch.empty_like(x.to(t)).uniform_(-0.75, 0.5) | types=FLOATS, call="uniform"
uniform_ default | torch.empty_like(x).uniform_() | call="uniform"
uniform_ of doubles | torch.empty_like(x).uniform_(-0.7, 0.9) | call="uniform"
uniform_ by name | torch.empty_like(x).uniform_(to=3, generator=None) | call="uniform"
uniform_ of new_empty | x.new_empty(2, 3).uniform_(1, 2) | call="uniform"
uniform_ of a transpose | torch.empty_like(x.t()).uniform_(1, 2) | call="uniform"
init.uniform_ | torch.nn.init.uniform_(torch.zeros_like(x), 0, 2) | call="uniform"
""")
for name, low, least in (("", "", ""), (" low", "-3, ", "3, ")):
    TABLE.rows(f"""
randint{name} | torch.randint({low}7, (x.shape[0], 2))
randint{name} dtype= | torch.randint({least}7, x.shape, dtype=t) | types=INTEGERS + FLOATS
randint{name} generator=None | torch.randint({low}9, x.shape, generator=None)
randint{name} out= | torch.randint({low}9, (2, 3), out=torch.empty(2, 3, dtype=torch.int64))
randint{name} generator=None out=
| torch.randint({low}9, (2, 3), generator=None, out=torch.empty(2, 3, dtype=torch.int64))
randint_like{name} | torch.randint_like(x.to(t), {low}9) | types=FLOATS + INTEGERS[:2]
randint_like{name} dtype=
| torch.randint_like(x, {low}9, dtype=t) | types=(torch.int64, torch.float64)
randint_like{name} generator=None | torch.randint_like(x, {low}9, generator=None)
""")
TABLE.rows("""
randint wide | torch.randint(-5, 2**40, (3, 4))
randint two words | torch.randint(0, 2**30, (3, 4))
randint of one | torch.randint(4, 5, (3, 4))
randint of a size in the model | torch.randint(0, 7, (x.shape[0] * 2,))
randint below the batch | torch.randint(0, x.shape[0], (6,))
randint of a generator
| torch.randint(9, (2, 3), generator=torch.Generator()) | call=("randint", "Generator")
randint_like Tensor | torch.randint_like(x, torch.tensor(9))
randint_like Tensor generator=None | torch.randint_like(x, torch.tensor(9), generator=None)
randint_like of a transpose | torch.randint_like(x.t(), 9)
random_ | torch.empty_like(x).random_() | call="random"
random_ to | torch.empty_like(x).random_(5) | call="random"
random_ from | torch.empty_like(x).random_(2, 5) | call="random"
randperm | torch.randperm(6)
randperm of one | torch.randperm(1)
randperm of the batch | torch.randperm(x.shape[0])
randperm dtype=
| torch.randperm(6, dtype=t) | types=(torch.int32, torch.int16, torch.float32, torch.float64)
randperm generator=None | torch.randperm(6, generator=None)
randperm out= | torch.randperm(6, out=torch.empty(6, dtype=torch.int64))
randperm generator=None out=
| torch.randperm(6, generator=None, out=torch.empty(6, dtype=torch.int64))
""")
