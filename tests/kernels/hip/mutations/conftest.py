"""The model of each file of tests, and its mutations."""

import pytest

from tests.kernels.hip.mutations.broken_kernels import Model, make_model


@pytest.fixture(scope="module")
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, commands: None) -> Model:
    return make_model(tmp_path_factory.mktemp("mutations"), request.module.network())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "mutation" in metafunc.fixturenames:
        mutations = metafunc.module.MUTATIONS
        metafunc.parametrize("mutation", mutations, ids=[mutation.name for mutation in mutations])
