// The model with states that is written by hand, fake_states.cpp: total = total + k, y = total * {1, 2, 3, 4}, by rows.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/loaded_model.h"

namespace onnxc {

// Makes an instance of an entry, which shares the states of another.
inline onnxc_status create_sharing(const onnxc_api* api, onnxc_instance* states_of, onnxc_instance*& instance,
                                   std::string& error, int32_t device = ONNXC_CPU, uint32_t flags = 0) {
  onnxc_options options = {};
  options.struct_size = sizeof options;
  options.flags = flags;
  options.device = device;
  options.states_of = states_of;
  char text[ONNXC_ERROR_SIZE] = "";
  const onnxc_status status = api->create(&options, &instance, text, sizeof text);
  error = text;
  return status;
}

// A run with k = {step, 2 * step, ...}: each total grows by it.
inline onnxc_status run_states(const onnxc_api* api, onnxc_instance* instance, int64_t rows, float step,
                               std::vector<float>& y, const onnxc_run_options* options = nullptr) {
  std::vector<float> x(static_cast<size_t>(rows) * 4), k = {step, 2 * step, 3 * step, 4 * step};
  y.assign(x.size(), -1);
  const int64_t x_dims[] = {rows, 4}, k_dims[] = {4};
  const onnxc_value inputs[] = {FakeRun::value(2, x_dims, x), FakeRun::value(1, k_dims, k)};
  const onnxc_value output = FakeRun::value(0, nullptr, y);
  return api->run(instance, inputs, 2, &output, 1, options);
}

// The values of the state after steps that sum up to `sum`, and y.
inline std::vector<float> totals(int64_t rows, float sum) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows * 4; ++i) values.push_back(static_cast<float>(i % 4 + 1) * sum);
  return values;
}
inline std::vector<float> outputs(int64_t rows, float sum) {
  std::vector<float> values = totals(rows, sum);
  for (size_t i = 0; i < values.size(); ++i) values[i] *= static_cast<float>(i % 4 + 1);
  return values;
}

// The state of that number among the entry's; empty if it cannot be read.
inline std::vector<float> read_state(const onnxc_api* api, onnxc_instance* instance, int32_t state = 0) {
  int64_t dims[2] = {};
  if (api->state_dims(instance, state, dims) != ONNXC_OK) return {};
  std::vector<float> values(static_cast<size_t>(dims[0] * dims[1]), -1);
  const onnxc_value value = FakeRun::value(2, dims, values);
  EXPECT_EQ(api->get_state(instance, state, &value), ONNXC_OK) << api->last_error(instance);
  return values;
}

inline onnxc_status write_state(const onnxc_api* api, onnxc_instance* instance, std::vector<float> values,
                                int32_t state = 0) {
  const int64_t dims[] = {static_cast<int64_t>(values.size()) / 4, 4};
  const onnxc_value value = FakeRun::value(2, dims, values);
  return api->set_state(instance, state, &value);
}

}  // namespace onnxc
