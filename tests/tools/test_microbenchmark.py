"""Every CPU kernel has a row among the micro-benchmarks, and one that multiplies has one in the check for spills."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
KERNELS = REPOSITORY / "src" / "kernels" / "cpu"
# And those whose products are of single vectors, which nothing keeps in registers, or of a pass's few.
WITHOUT_PRODUCTS = {
    "Argsort",
    "ChannelMoments",
    "ChannelShift",
    "Fourier",
    "LayoutCopy",
    "MeanOfChannels",
    "NonMaxSuppression",
    "PartialMoments",
    "PartialMomentsOfRows",
    "PlanarPool",
    "Pool",
    "SeparablePool",
}


def kernels() -> set[str]:
    """The classes that have tasks."""
    classes = [
        text
        for header in KERNELS.rglob("*.h")
        for text in re.split(r"^class ", header.read_text(), flags=re.MULTILINE)[1:]
    ]
    names = {re.split(r"\W", text)[0] for text in classes if "static KernelWork work(" in text}
    assert len(names) > 15
    return names


def missing(names: set[str], text: str) -> set[str]:
    return {name for name in names if not re.search(rf"\b{name}\b", text)}


def test_every_kernel_is_measured() -> None:
    rows = "".join(source.read_text() for source in (REPOSITORY / "tools" / "microbenchmark").glob("*.cpp"))
    assert missing(kernels(), rows) == set()


def test_every_kernel_with_products_is_checked_for_spills() -> None:
    checked = (REPOSITORY / "tests" / "codegen" / "cpu" / "hot_loops_test.cpp").read_text()
    assert missing(kernels() - WITHOUT_PRODUCTS, checked) == set()
