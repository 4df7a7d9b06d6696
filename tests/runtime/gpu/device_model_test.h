// Tests of the model of a GPU that is written by hand, fake_device_model.cpp: y = x * {1, 2, 3, 4} + k, along rows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/loaded_model.h"

namespace onnxc {

inline onnxc_run_options in_stream(void* stream, uint32_t flags = 0) {
  onnxc_run_options options = {};
  options.struct_size = sizeof options;
  options.stream = stream;
  options.flags = flags;
  return options;
}

// Values of x [rows, 4], from `first` on, and k [4], and what y must be.
struct DeviceModelValues {
  explicit DeviceModelValues(int64_t rows, float first = -8) {
    for (size_t i = 0; i < static_cast<size_t>(rows) * 4; ++i) {
      x.push_back(static_cast<float>(i % 17) + first);
      expected.push_back(x[i] * static_cast<float>(i % 4 + 1) + k[i % 4]);
    }
  }
  std::vector<float> x, k = {10, 20, 30, 40}, expected;
};

// In front of a library that stands in for the vendor's.
template <class Library>
class DeviceModelTest : public ::testing::Test {
 protected:
  explicit DeviceModelTest(const char* file) : model(file) {}

  onnxc_status create(uint32_t flags = 0, int device_index = 0) {
    return create_on_device(model, instance, error, flags, device_index);
  }

  // All values in memory of the host.
  onnxc_status run(int64_t rows, const onnxc_run_options* options = nullptr, float first = -8) {
    std::vector<float> memory(static_cast<size_t>(rows) * 4);
    return run_in(memory, ONNXC_CPU, rows, options, first);
  }

  // x lies in `x`, and that on the device or not.
  onnxc_status run_in(std::vector<float>& x, int32_t x_device, int64_t rows, const onnxc_run_options* options = nullptr,
                      float first = -8) {
    DeviceModelValues values(rows, first);
    std::ranges::copy(values.x, x.begin());
    expected = values.expected;
    y.assign(expected.size(), -1);
    const int64_t x_dims[] = {rows, 4}, k_dims[] = {4};
    onnxc_value inputs[] = {FakeRun::value(2, x_dims, x), FakeRun::value(1, k_dims, values.k)};
    inputs[0].device = x_device;
    const onnxc_value output = FakeRun::value(0, nullptr, y);
    const onnxc_status status = model->run(instance, inputs, 2, &output, 1, options);
    error = model->last_error(instance);
    return status;
  }

  void expect_right(int64_t rows, const onnxc_run_options* options = nullptr, float first = -8) {
    ASSERT_EQ(run(rows, options, first), ONNXC_OK) << error;
    EXPECT_EQ(y, expected) << rows << " rows";
  }

  void destroy() {
    model->destroy(instance);
    instance = nullptr;
  }

  Library library;
  LoadedModel model;
  onnxc_instance* instance = nullptr;
  std::string error;
  std::vector<float> y, expected;
};

}  // namespace onnxc
