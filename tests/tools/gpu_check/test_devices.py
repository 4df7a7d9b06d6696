"""The check on PyTorch for ROCm, which calls AMD's GPUs "cuda", with stand-ins for its functions."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tools.gpu_check import jobs, times
from tools.gpu_check.devices import Cpu, DeviceError, Gpu, device_of
from tools.gpu_check.kinds import KINDS
from tools.gpu_check.manifest import CheckedModel, Manifest
from tools.gpu_check.target import TARGETS

DRIVER = '{"system": {"Driver version": "6.12.12"}}'


@pytest.fixture
def rocm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """PyTorch for ROCm on a machine with an MI300X."""
    card = SimpleNamespace(
        name="AMD Instinct MI300X", gcnArchName="gfx942:sramecc+:xnack-", major=9, minor=4, total_memory=192 << 30,
        multi_processor_count=304,
    )  # fmt: skip
    program = tmp_path / "rocm-smi"
    program.write_text(f"#!/bin/sh\necho '{DRIVER}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(torch.version, "hip", "7.0.51831")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: card)
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: 3005000)
    before = torch.backends.cudnn.benchmark
    yield
    torch.backends.cudnn.benchmark = before


@pytest.mark.usefixtures("rocm")
def test_an_amd_card_is_described() -> None:
    facts = Gpu().describe()
    assert facts["card"] == "AMD Instinct MI300X"
    assert facts["capability"] == "gfx942:sramecc+:xnack-"
    assert facts["driver"] == "6.12.12"
    assert facts["units"] == 304
    assert facts["miopen"] == 3005000
    assert "cudnn" not in facts


@pytest.mark.usefixtures("rocm")
def test_an_unreadable_driver_is_not_fatal(tmp_path: Path) -> None:
    (tmp_path / "rocm-smi").write_text("#!/bin/sh\necho no driver\n")
    assert Gpu().describe()["driver"] == "no driver"
    (tmp_path / "rocm-smi").write_text("#!/bin/sh\nexit 1\n")
    assert Gpu().describe()["driver"] == ""


def test_without_a_gpu_both_vendors_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match=r"install a PyTorch with CUDA or ROCm .* nvidia-smi or rocm-smi"):
        device_of("cuda")


@pytest.mark.parametrize("name", ["amd", "radeon"])
def test_amd_has_no_jobs_of_nvidias_tools(name: str) -> None:
    target = TARGETS[name]
    assert target.torch == "cuda"
    models = [CheckedModel(each, [], dict.fromkeys(target.products, 1e-5)) for each in jobs.SANITIZED]

    def planned(of: str) -> list[jobs.Job]:
        return jobs.sanitizers(Manifest(of, "", models, [], None))

    assert planned(name) == []
    assert {job.what for job in planned("nvidia")} == set(jobs.TOOLS)


def test_radeons_have_no_products_of_xf32() -> None:
    assert set(KINDS) - set(TARGETS["radeon"].products) == {"tf32"}


def test_our_times_do_not_wait_for_miopens_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The values to compare with are PyTorch's without its search; its own times are with it."""
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    seen: list[bool] = []

    class Stopped(Exception):
        pass

    def engine(*_: Any) -> None:
        raise Stopped

    def network(x: torch.Tensor) -> torch.Tensor:
        seen.append(torch.backends.cudnn.benchmark)
        return x

    timed: Any = SimpleNamespace(
        x=torch.zeros(2), device=Cpu(), kind="ieee", folder=Path(), target=TARGETS["cpu"], module=lambda: network
    )
    monkeypatch.setattr(times, "Engine", engine)
    with pytest.raises(Stopped):
        next(times.ours(timed))
    assert seen == [False]
    assert torch.backends.cudnn.benchmark
