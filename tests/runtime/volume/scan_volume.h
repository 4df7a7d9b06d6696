// A run over a scan by the model of fake_volume_model.cpp: its two classes are x and k - x, so that windows with no
// importance of their own blend to these exactly.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "onnxc_volume.h"

namespace onnxc {

struct ScanVolume {
  ScanVolume(const std::array<int64_t, 3>& size, const std::array<int64_t, 3>& windows)
      : dims(size), window(windows), scan(static_cast<size_t>(size[0] * size[1] * size[2])), values(2 * scan.size()) {
    for (size_t i = 0; i < scan.size(); ++i) scan[i] = static_cast<int16_t>(i * 37 % 101) - 20;
    clear();
    k_value.dtype = ONNXC_FLOAT32;
    k_value.rank = 1;
    k_value.dims = &k_dim;
    k_value.data = &k;
    k_value.bytes = sizeof k;
    inputs[0].dtype = ONNXC_INT16;
    inputs[0].channels = 1;
    inputs[0].data = scan.data();
    inputs[0].bytes = static_cast<int64_t>(scan.size() * sizeof(int16_t));
    inputs[1].fixed = &k_value;
    output.what = ONNXC_VOLUME_VALUES;
    output.dtype = ONNXC_FLOAT32;
    output.data = values.data();
    output.bytes = static_cast<int64_t>(values.size() * sizeof(float));
    volume.struct_size = sizeof volume;
    volume.rank = 3;
    volume.dims = dims.data();
    volume.window = window.data();
    volume.overlap = overlap;
    volume.inputs = inputs;
    volume.outputs = &output;
    result.struct_size = sizeof result;
  }
  ScanVolume(const ScanVolume&) = delete;
  ScanVolume& operator=(const ScanVolume&) = delete;

  void clear() { std::fill(values.begin(), values.end(), __builtin_nanf("")); }
  void expect_values() const {
    for (size_t i = 0; i < scan.size(); ++i) {
      ASSERT_EQ(values[i], scan[i]) << i;
      ASSERT_EQ(values[scan.size() + i], k - scan[i]) << i;
    }
  }

  std::array<int64_t, 3> dims, window;
  std::vector<int16_t> scan;
  std::vector<float> values;
  float k = 30;
  int64_t k_dim = 1;
  onnxc_value k_value = {};
  double overlap[3] = {0.5, 0.5, 0.5};
  onnxc_volume_input inputs[2] = {};
  onnxc_volume_output output = {};
  onnxc_volume volume = {};
  onnxc_volume_result result = {};
};

}  // namespace onnxc
