// The families of operators: each is one file in ops/, and the registry has them all.
#pragma once

#include "ops/op.h"

namespace onnxc {

std::span<const OpRow> elementwise_ops();
std::span<const OpRow> activation_ops();
std::span<const OpRow> comparison_logic_ops();
std::span<const OpRow> cast_ops();
std::span<const OpRow> reduction_ops();
std::span<const OpRow> reshape_ops();
std::span<const OpRow> slice_and_pad_ops();
std::span<const OpRow> data_movement_ops();
std::span<const OpRow> gather_scatter_ops();
std::span<const OpRow> control_flow_ops();
std::span<const OpRow> argsort_ops();
std::span<const OpRow> selection_ops();
std::span<const OpRow> shape_ops();
std::span<const OpRow> convolution_ops();
std::span<const OpRow> pooling_ops();
std::span<const OpRow> resize_ops();
std::span<const OpRow> matrix_ops();
std::span<const OpRow> einsum_ops();
std::span<const OpRow> normalization_ops();
std::span<const OpRow> layer_normalization_ops();
std::span<const OpRow> softmax_ops();
std::span<const OpRow> decoder_block_ops();
std::span<const OpRow> quantize_linear_ops();
std::span<const OpRow> qlinear_ops();
std::span<const OpRow> recurrent_ops();
std::span<const OpRow> microsoft_fused_ops();
std::span<const OpRow> microsoft_attention_ops();
std::span<const OpRow> microsoft_quantized_ops();
std::span<const OpRow> grid_sample_ops();
std::span<const OpRow> unpool_ops();
std::span<const OpRow> detection_ops();
std::span<const OpRow> deform_conv_ops();
std::span<const OpRow> fourier_ops();
std::span<const OpRow> optimizer_ops();
std::span<const OpRow> gradient_ops();
std::span<const OpRow> determinant_ops();
std::span<const OpRow> tf_idf_ops();
std::span<const OpRow> sequence_ops();
std::span<const OpRow> ml_feature_ops();
std::span<const OpRow> encoder_ops();
std::span<const OpRow> string_ops();
std::span<const OpRow> tree_ops();
std::span<const OpRow> support_vector_ops();
std::span<const OpRow> coupling_ops();
std::span<const OpRow> max_roi_pool_ops();
std::span<const OpRow> random_ops();
std::span<const OpRow> dropout_ops();

}  // namespace onnxc
