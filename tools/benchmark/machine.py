"""The machine that a benchmark ran on."""

import os
import platform
from pathlib import Path

INSTRUCTIONS = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16")


def describe_machine() -> dict[str, str]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    flags = facts.get("flags", "").split()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": facts.get("model name", platform.machine()),
        "cores": str(len(os.sched_getaffinity(0))),
        "instructions": " ".join(flag for flag in INSTRUCTIONS if flag in flags),
        "memory": f"{memory:.0f} GiB",
        "load": f"{os.getloadavg()[0]:.1f}",
        "system": platform.system() + " " + platform.release(),
    }
