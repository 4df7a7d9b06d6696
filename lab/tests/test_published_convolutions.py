"""The comparison with IREE's published convolutions as far as it needs no compiler of IREE's."""

import numpy as np
import pytest

from lab.published_convolutions import LAYERS, Layer, check_tuning, estimated, make_data, tiles

CONFIGURATION = "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, workgroup = [1, 64, 1, 64, 0]}"
CONFIGURED = f"lowering_config = #iree_gpu.lowering_config<{CONFIGURATION}>}} {{"
TUNING = f"""transform.named_sequence @"match_conv$0_bf16"(%arg0) {{
  lowering_config = #iree_gpu.lowering_config<{CONFIGURATION}>, workgroup_size = [128, 1, 1] subgroup_size
"""


def test_the_configuration_must_be_that_of_the_tuning_file() -> None:
    assert check_tuning("conv$0_bf16", (128, 1, 1), CONFIGURED, TUNING) == CONFIGURATION
    assert tiles(CONFIGURATION) == "1x64x1x64"
    with pytest.raises(RuntimeError, match="of 0 for it"):
        check_tuning("conv$1_bf16", (128, 1, 1), CONFIGURED, TUNING)
    with pytest.raises(RuntimeError, match="of 1 for it"):
        check_tuning("conv$0_bf16", (128, 1, 1), CONFIGURED.replace("1, 64", "2, 64"), TUNING)
    with pytest.raises(RuntimeError, match=r"blocks of \(64, 1, 1\), which the tuning file does not ask for"):
        check_tuning("conv$0_bf16", (64, 1, 1), CONFIGURED, TUNING)


def test_layers_are_those_of_the_pull_requests() -> None:
    assert len({layer.name for layer in LAYERS}) == 8
    first, strided = LAYERS[0], LAYERS[5]
    assert "-n 16 -c 288 -k 288 -g 3" in first.command()
    assert "--in_d 8 --fil_d 3 --pad_d 1 --conv_stride_d 1" in first.command()
    assert "-H 470 -y 3 -p 1 -u 2 -l 1" in strided.command()
    assert strided.output_size == (235, 363)
    assert first.operations == 2 * 16 * 8 * 48 * 32 * 288 * 96 * 3


def test_data_are_exact_in_bfloat16() -> None:
    layer = Layer(2, (5, 6), 8, (3, 1), 2, 2, True, 0, 0)
    data = make_data(layer)
    assert data.y.shape == (2, 3, 3, 8)
    x, w = (array.astype(np.float64) for array in (data.x, data.weights))
    # The middle row of the first image, the last channel: group 1 has the upper half of the channels.
    expected = float(data.bias[7]) + sum(x[0, 1 + k, 2, 4 + c] * w[7, k, 0, c] for k in range(3) for c in range(4))
    assert float(data.y[0, 1, 1, 7]) == expected


def test_the_estimate_leaves_out_copies_and_what_no_step_runs() -> None:
    kernels = [
        {"steps": [0], "description": "loops copy", "modelled_us": 10},
        {"steps": [1], "description": "conv", "modelled_us": 11.5},
        {"steps": [], "description": "cuts windows", "modelled_us": None},
    ]
    assert estimated({"gpu": {"kernels": kernels}}) == 11.5
