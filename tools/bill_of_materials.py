"""The bill of materials of the wheel: what its programs are linked with, or made of the headers of, in SPDX 2.3
(ISO/IEC 5962, https://spdx.github.io/spdx-spec/v2.3). CMake runs it when it configures a wheel, which keeps the file in
its metadata (PEP 770).

    python3 -m tools.bill_of_materials OUTPUT --version 0.1.0 --onnx 1.23.2 --zig 0.17.1

NOTICE has the same libraries, with their copyrights.
"""

import argparse
import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# The date of a build that has none: as zip archives have it.
FIRST_DATE = 315_532_800
PUBLIC_DOMAIN = "LicenseRef-public-domain"


@dataclass(frozen=True)
class Component:
    """`package` is Debian's, which knows the version; the others come with the build."""

    name: str
    licence: str
    package: str | None = None


COMPONENTS = [
    Component("ONNX", "Apache-2.0"),
    Component("protozero", "BSD-2-Clause", "libprotozero-dev"),
    Component("Protocol Buffers", "BSD-3-Clause", "libprotobuf-dev"),
    Component("fmt", "MIT", "libfmt-dev"),
    Component("spdlog", "MIT", "libspdlog-dev"),
    Component("CLI11", "BSD-3-Clause", "libcli11-dev"),
    Component("JSON for Modern C++", "MIT", "nlohmann-json3-dev"),
    Component("Eigen", "MPL-2.0", "libeigen3-dev"),
    Component("nifticlib", PUBLIC_DOMAIN, "libnifti2-dev"),
    Component("zlib", "Zlib", "zlib1g-dev"),
    Component("libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "libstdc++-12-dev"),
    Component("libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1", "libgcc-12-dev"),
    Component("libunwind", "Apache-2.0 WITH LLVM-exception"),
    Component("compiler-rt", "Apache-2.0 WITH LLVM-exception"),
    Component("libclc", "Apache-2.0 WITH LLVM-exception", "libclc-19"),
]


def installed_version(package: str) -> str:
    """The version of a Debian package; raises CalledProcessError if it is not installed."""
    command = ["dpkg-query", "-W", "-f", "${Version}", package]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def identifier(name: str) -> str:
    return "SPDXRef-" + "".join(c if c.isalnum() else "-" for c in name.replace("++", "pp"))


def described(name: str, version: str, licence: str, locator: str) -> dict[str, Any]:
    return {
        "SPDXID": identifier(name),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
        ],
    }


def bill(version: str, onnx: str, zig: str, version_of: Callable[[str], str] = installed_version) -> dict[str, Any]:
    packages = [described("onnxc", version, "Apache-2.0", f"pkg:pypi/onnxc@{version}")]
    for component in COMPONENTS:
        if component.package is not None:
            found = version_of(component.package)
            locator = f"pkg:deb/debian/{component.package.replace('+', '%2B')}@{found.replace('+', '%2B')}"
        elif component.name == "ONNX":
            found, locator = onnx, f"pkg:pypi/onnx@{onnx}"
        else:  # zig brings them
            found, locator = zig, f"pkg:pypi/ziglang@{zig}"
        packages.append(described(component.name, found, component.licence, locator))
    digest = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()
    date = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", FIRST_DATE)), UTC)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"onnxc-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/onnxc-{version}-{digest[:32]}",
        "creationInfo": {
            "created": date.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [f"Tool: onnxc-bill-of-materials-{version}"],
        },
        "documentDescribes": [identifier("onnxc")],
        "packages": packages,
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": identifier("onnxc"),
            },
            *(
                {
                    "spdxElementId": identifier("onnxc"),
                    "relationshipType": "STATIC_LINK",
                    "relatedSpdxElement": identifier(component.name),
                }
                for component in COMPONENTS
            ),
        ],
        "hasExtractedLicensingInfos": [
            {"licenseId": PUBLIC_DOMAIN, "name": "public domain", "extractedText": "This is in the public domain."}
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    for name in ("version", "onnx", "zig"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    content = bill(given.version, given.onnx, given.zig)
    given.output.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
