"""The Docker files and the conda recipe: what they take from the checkout is there. No image is built."""

import re

import pytest

from tests.onnxc_commands import REPOSITORY

PACKAGING = REPOSITORY / "packaging"
VERSION = re.search(r'VERSION = "(.*)"', (REPOSITORY / "python/onnxc/version.py").read_text())


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.rocm"])
def test_an_image_is_made_by_a_target_of_make(name: str) -> None:
    text = (PACKAGING / "docker" / name).read_text()
    for target in re.findall(r"^RUN make (.+)$", text, re.MULTILINE):
        assert re.search(rf"^{target}:", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    stages = re.findall(r"^FROM \S+ AS (\w+)$", text, re.MULTILINE)
    assert set(re.findall(r"--from=(\w+)", text)) == set(stages)
    assert (PACKAGING / "docker" / f"{name}.dockerignore").exists()
    assert f"-f packaging/docker/{name} ." in text


def test_the_extra_of_the_image_is_one_of_the_wheel() -> None:
    text = (PACKAGING / "docker" / "Dockerfile").read_text()
    [extra] = re.findall(r"\.whl\)\[(\w+)\]", text)
    assert re.search(rf"^{extra} = \[", (REPOSITORY / "pyproject.toml").read_text(), re.MULTILINE)


def test_the_recipe_has_the_versions_and_needs_of_the_wheel() -> None:
    recipe = (PACKAGING / "conda" / "recipe.yaml").read_text()
    project = (REPOSITORY / "pyproject.toml").read_text()
    assert VERSION is not None
    assert f'version: "{VERSION[1]}"' in recipe
    [python] = re.findall(r'requires-python = ">=(.*)"', project)
    assert recipe.count(f"python >={python}") == 2
    [needs] = re.findall(r"^dependencies = \[(.*)\]", project, re.MULTILINE)
    for name in re.findall(r'"(\w+)"', needs):
        assert f"    - {name}\n" in recipe
