"""Every CPU kernel has a row among the micro-benchmarks, and where it multiplies one in the check for spills."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
KERNELS = REPOSITORY / "src" / "codegen" / "cpu" / "kernels"


def kernels() -> dict[str, str]:
    """The text of each class that has tasks, by its name."""
    found = {}
    for header in sorted(KERNELS.glob("*.h")):
        for text in re.split(r"^(?=class )", header.read_text(), flags=re.MULTILINE)[1:]:
            if "static KernelWork work(" in text:
                found[re.split(r"\W", text)[1]] = text
    return found


def test_every_kernel_is_measured() -> None:
    names = kernels()
    assert len(names) > 15
    rows = "".join(source.read_text() for source in (REPOSITORY / "tools" / "microbenchmark").glob("*.cpp"))
    assert [name for name in names if not re.search(rf"\b{name}\b", rows)] == []
