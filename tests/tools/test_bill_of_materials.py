"""The bill of materials: SPDX as its specification asks for it, and the libraries that NOTICE names."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.onnxc_commands import REPOSITORY
from tools.bill_of_materials import COMPONENTS, bill


def version_of(package: str) -> str:
    return f"1.2+{package[-3:]}-4"


def test_it_is_spdx(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fields that SPDX 2.3 makes mandatory (clauses 6, 7, 10 and 11), and that all that is referred to is there."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    content = bill("0.1.0", "1.2.3", "4.5.6", version_of)
    assert (content["spdxVersion"], content["dataLicense"], content["SPDXID"]) == (
        "SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT",
    )  # fmt: skip
    assert content["creationInfo"]["created"] == "1970-01-02T00:00:00Z"
    assert all(creator.startswith("Tool: ") for creator in content["creationInfo"]["creators"])
    assert re.fullmatch(r"https://[^#]+", content["documentNamespace"])
    identifiers = [package["SPDXID"] for package in content["packages"]]
    assert len(set(identifiers)) == len(identifiers) == len(COMPONENTS) + 1
    for package in content["packages"]:
        assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"])
        assert package["name"]
        assert package["versionInfo"]
        assert package["downloadLocation"] == "NOASSERTION"
        assert package["licenseDeclared"]
        [reference] = package["externalRefs"]
        assert re.fullmatch(r"pkg:(pypi|deb/debian)/[a-z0-9.%B-]+@[A-Za-z0-9.%~:-]+", reference["referenceLocator"])
    known = {*identifiers, "SPDXRef-DOCUMENT"}
    for relationship in content["relationships"]:
        assert {relationship["spdxElementId"], relationship["relatedSpdxElement"]} <= known
    assert content["documentDescribes"] == ["SPDXRef-onnxc"]
    extracted = {licence["licenseId"] for licence in content["hasExtractedLicensingInfos"]}
    assert {p["licenseDeclared"] for p in content["packages"] if "LicenseRef" in p["licenseDeclared"]} == extracted


def test_it_has_the_libraries_of_notice() -> None:
    table = (REPOSITORY / "NOTICE").read_text().partition("A wheel holds all of them.")[2].partition("License (")[0]
    rows = re.findall(r"^  (\S.*?) [0-9.]*  +(?:Copyright|in the public)", table, re.MULTILINE)
    in_notice = {name.strip() for row in rows for name in re.sub(r" [0-9.]+$", "", row).split(",")}
    assert {component.name for component in COMPONENTS} == in_notice


def test_packages_are_those_of_the_set_up() -> None:
    """Those of the compiler come with g++."""
    listed = set((REPOSITORY / "scripts" / "packages.txt").read_text().split())
    packages = {component.package for component in COMPONENTS if component.package is not None}
    assert packages - listed == {"libstdc++-12-dev", "libgcc-12-dev"}


def test_the_file_is_the_same_each_time(tmp_path: Path) -> None:
    words = ["--version", "0.1.0", "--onnx", "1.2.3", "--zig", "4.5.6"]
    for name in ("first.json", "second.json"):
        command = [sys.executable, "-m", "tools.bill_of_materials", str(tmp_path / name), *words]
        subprocess.run(command, cwd=REPOSITORY, check=True)
    first = (tmp_path / "first.json").read_bytes()
    assert first == (tmp_path / "second.json").read_bytes()
    versions = {package["name"]: package["versionInfo"] for package in json.loads(first)["packages"]}
    assert versions["zlib"][0].isdigit(), "as it is installed here"
