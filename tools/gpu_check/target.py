"""The kinds of GPU that a bundle is made for: the one place with the compiler's and the runtime's names for them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """options: of the compiler. session: the device's name for a session. torch: its name for PyTorch.
    products: the product kinds of kinds.py that it has. has_sanitizer: compute-sanitizer is for it."""

    options: tuple[str, ...]
    session: str
    torch: str
    products: tuple[str, ...] = ("ieee", "bf16x3", "tf32", "float16", "bfloat16")
    has_sanitizer: bool = True


# The host's code, since a machine with a GPU has another CPU than the one that makes the bundle.
HOST = ("--march", "x86-64-v3")

TARGETS: Mapping[str, Target] = {
    "nvidia": Target(("--target", "gpu", "--gpu-arch", "sm_80,sm_90a", *HOST), "gpu", "cuda"),
    "amd": Target(("--target", "gpu", "--gpu-arch", "gfx942", *HOST), "gpu", "cuda", has_sanitizer=False),
    "radeon": Target(
        ("--target", "gpu", "--gpu-arch", "gfx1100,gfx1201", *HOST),
        "gpu",
        "cuda",
        ("ieee", "bf16x3", "float16", "bfloat16"),
        has_sanitizer=False,
    ),
    # For dry runs: GPU code on the simulator (ONNXC_HIP_LIBRARY) beside PyTorch on the CPU, and the CPU's own code.
    "simulated": Target(("--target", "gpu", "--gpu-arch", "gfx942"), "gpu", "cpu"),
    "cpu": Target(("--target", "cpu"), "cpu", "cpu", ("ieee", "float16", "bfloat16")),
}
DEFAULT = "nvidia"
