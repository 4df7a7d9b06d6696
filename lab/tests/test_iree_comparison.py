"""The comparison with IREE as far as it reads IREE's files; IREE itself is not part of the tests."""

import pytest

from lab.iree_comparison import LAYERS, Binding, Dispatch, Fill, Layer, mlir_of, parts_for, read_commands

COMMANDS = """
    %c1792 = arith.constant 1792 : index
    hal.command_buffer.fill_buffer<%cmd : !hal.command_buffer> target(%c4 : index)[%c0, %c1382400] pattern(%c0_i8 : i8)
    %function_id = hal.executable.lookup.function target(%e : !hal.executable) function(@p::@rocm_hsaco_fb::@copy) : i64
    hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%e : !hal.executable)[%function_id] workgroups(\
[%c1792, %c2, %c1]) bindings([
      (%c0 : index)[%c0, %c802816],
      (%c4 : index)[%c64, %c1382400]
    ]) flags("None")
"""


def test_reads_a_command_buffer() -> None:
    assert read_commands(COMMANDS) == [
        Fill(Binding(4, 0, 1382400), 0),
        Dispatch("copy", (1792, 2, 1), [Binding(0, 0, 802816), Binding(4, 64, 1382400)]),
    ]


def test_refuses_what_it_does_not_understand() -> None:
    with pytest.raises(ValueError, match="no command buffer"):
        read_commands("")
    with pytest.raises(ValueError, match="'%size' is not a constant"):
        read_commands(COMMANDS.replace("%c802816", "%size"))
    with pytest.raises(ValueError, match="of 3 commands only 2"):
        read_commands(COMMANDS + "hal.command_buffer.copy_buffer<%cmd>")
    with pytest.raises(ValueError, match="a dispatch with constants"):
        read_commands(COMMANDS.replace(" bindings([", " constants([%c1_i32]) bindings(["))


def test_layers_have_the_sizes_of_convolution() -> None:
    layer = Layer("", 3, 64, (16, 112, 112), (3, 7, 7), (1, 2, 2))
    assert layer.pads == (1, 3, 3)
    assert layer.output_size == (16, 56, 56)
    assert layer.operations == 2 * 3 * 64 * 147 * 16 * 56 * 56
    assert "tensor<1x3x18x118x118xf32>" in mlir_of(layer)
    assert "split_reduction" not in mlir_of(layer)
    assert len({layer.name for layer in LAYERS}) == len(LAYERS)


def test_splits_until_each_compute_unit_has_a_group() -> None:
    layer = Layer("", 64, 64, (4, 5, 6))
    assert [parts_for(layer, groups) for groups in (304, 303, 100, 76, 75, 1)] == [1, 2, 4, 4, 8, 8]
    assert parts_for(Layer("", 3, 64, (4, 5, 6)), 1) == 1
    assert "split_reduction = [16 : index, 3 : index, 3 : index, 3 : index]" in mlir_of(layer, 4)
