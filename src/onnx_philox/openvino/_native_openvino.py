"""The backend "native": the compiled extension, for the OpenVINO version it was built for."""

from __future__ import annotations

import openvino as ov

from onnx_philox import _native_library

_RUNTIME = "openvino"


def unavailable() -> ImportError | None:
    """Why this backend cannot be used here, and what to do; None if it can."""
    path = _native_library.find(_RUNTIME)
    if path is None:
        return _native_library.missing(_RUNTIME)
    version = path.with_name("onnx_philox_openvino.version")
    built = version.read_text().strip() if version.exists() else "an unknown version"
    # Without its build number.
    here = str(ov.get_version()).split("-")[0]
    if built != here:
        return ImportError(
            f"onnx_philox.openvino: backend 'native' was built for OpenVINO {built}, and this is "
            f"OpenVINO {here}, whose binary interface differs. Install that version with "
            f"'pip install openvino=={built}.*', install onnx-philox again to build for this one, "
            "or use backend='python'."
        )
    return None


def library_path() -> str:
    """The path of the native extension, for `Core.add_extension` of any language.

    Raises:
        ImportError: The package was installed without it, or for another OpenVINO version.
    """
    reason = unavailable()
    if reason is not None:
        raise reason
    return str(_native_library.find(_RUNTIME))


def register(core: ov.Core) -> None:
    """Adds the operators and their conversion from ONNX."""
    core.add_extension(library_path())
