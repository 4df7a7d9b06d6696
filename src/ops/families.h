// Families of operators beside those that op.h declares; the registry has them all.
#pragma once

#include "ops/op.h"

namespace onnxc {

std::span<const OpRow> grid_sample_ops();
std::span<const OpRow> unpool_ops();
std::span<const OpRow> detection_ops();
std::span<const OpRow> deform_conv_ops();
std::span<const OpRow> fourier_ops();
std::span<const OpRow> optimizer_ops();
std::span<const OpRow> determinant_ops();
std::span<const OpRow> tf_idf_ops();
std::span<const OpRow> optional_ops();
std::span<const OpRow> ml_feature_ops();

}  // namespace onnxc
