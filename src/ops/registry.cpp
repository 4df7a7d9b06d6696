#include <unordered_map>

#include "ops/families.h"

namespace onnxc {

std::vector<const OpRow*> all_ops() {
  std::vector<const OpRow*> rows;
  for (std::span<const OpRow> family : {elementwise_ops(),
                                        activation_ops(),
                                        comparison_logic_ops(),
                                        cast_ops(),
                                        random_ops(),
                                        dropout_ops(),
                                        reduction_ops(),
                                        reshape_ops(),
                                        slice_and_pad_ops(),
                                        data_movement_ops(),
                                        gather_scatter_ops(),
                                        argsort_ops(),
                                        selection_ops(),
                                        control_flow_ops(),
                                        shape_ops(),
                                        convolution_ops(),
                                        pooling_ops(),
                                        resize_ops(),
                                        matrix_ops(),
                                        einsum_ops(),
                                        normalization_ops(),
                                        layer_normalization_ops(),
                                        softmax_ops(),
                                        decoder_block_ops(),
                                        grid_sample_ops(),
                                        unpool_ops(),
                                        detection_ops(),
                                        deform_conv_ops(),
                                        fourier_ops(),
                                        optimizer_ops(),
                                        gradient_ops(),
                                        determinant_ops(),
                                        tf_idf_ops(),
                                        sequence_ops(),
                                        ml_feature_ops(),
                                        encoder_ops(),
                                        string_ops(),
                                        tree_ops(),
                                        support_vector_ops(),
                                        coupling_ops(),
                                        max_roi_pool_ops(),
                                        quantize_linear_ops(),
                                        qlinear_ops(),
                                        recurrent_ops(),
                                        microsoft_fused_ops(),
                                        microsoft_attention_ops(),
                                        microsoft_quantized_ops()})
    for (const OpRow& row : family) rows.push_back(&row);
  return rows;
}

const OpRow* find_op(std::string_view domain, std::string_view name, int version) {
  static const std::unordered_multimap<std::string_view, const OpRow*> by_name = [] {
    std::unordered_multimap<std::string_view, const OpRow*> rows;
    for (const OpRow* row : all_ops()) rows.emplace(row->name, row);
    return rows;
  }();
  if (domain == "ai.onnx") domain = "";
  auto [first, last] = by_name.equal_range(name);
  for (; first != last; ++first) {
    const OpRow* row = first->second;
    if (row->domain == domain && row->first_version <= version && version <= row->last_version) return row;
  }
  return nullptr;
}

}  // namespace onnxc
