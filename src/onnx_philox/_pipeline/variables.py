"""A model's own variables (ReadValue and Assign in OpenVINO), which a request carries."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from onnx_philox._contract.refusal import refuse, shown
from onnx_philox._record.hashes import bytes_of
from onnx_philox._runtimes.port import Arrays

Variables = Arrays | None
"""What a model's variables hold, by name; None where they are as at first."""


def written(variables: Variables) -> dict[str, Any] | None:
    """They as JSON: the bytes least significant first, on any machine."""
    if variables is None:
        return None
    return {
        name: {
            "type": array.dtype.name,
            "shape": list(array.shape),
            "base64": base64.b64encode(bytes_of(array)).decode(),
        }
        for name, array in variables.items()
    }


def read_variables(
    given: Any,
    types: Mapping[str, np.dtype[Any]],
    owner: str,
    what: str,
    remedy: str,
) -> Variables:
    """What `written` wrote for a model with variables of these types.

    Raises:
        ValueError: It is anything else.
    """
    if given is None:
        return None
    if not isinstance(given, dict) or given.keys() != types.keys():
        names = [*given] if isinstance(given, dict) else given
        refuse(owner, what, shown(names), f"null, or those of {', '.join(types)}", remedy)
    arrays: Arrays = {}
    for name, type_ in types.items():
        entry = given[name]
        try:
            content = base64.b64decode(entry["base64"], validate=True)
            array = np.frombuffer(content, type_.newbyteorder("<")).astype(type_)
            arrays[name] = array.reshape(entry["shape"])
            is_of_type = entry["type"] == type_.name
            is_right = is_of_type and all(type(size) is int for size in entry["shape"])
        except (ValueError, TypeError, KeyError, IndexError, RecursionError):
            is_right = False
        if not is_right:
            allowed = f"an array of {type_.name}, with its type, shape and base64"
            refuse(owner, f"{what}[{name!r}]", shown(entry), allowed, remedy)
    return arrays
