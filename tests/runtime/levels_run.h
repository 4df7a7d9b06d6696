// Values for a model whose sizes become known while it runs.
#pragma once

#include "runtime/loaded_model.h"

namespace onnxc {

// Values for one run of fake_levels.cpp.
struct LevelsRun {
  LevelsRun(int64_t n, int64_t size, int64_t rounds, bool negates)
      : x_dims{n},
        x(static_cast<size_t>(n)),
        k{static_cast<float>(size), static_cast<float>(rounds), negates ? 1.0F : 0.0F} {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8;
    for (int64_t i = 0; i < size && size < 1000; ++i) {
      float value = i < n ? (negates ? -2 : 2) * x[static_cast<size_t>(i)] : 0;
      for (int64_t round = 0; round < rounds; ++round) value += static_cast<float>(size + round);
      expected_y.push_back(value);
    }
    for (int64_t round = 0; round < rounds; ++round) expected_z.push_back(static_cast<float>(round));
    inputs[0] = value(1, x_dims, x);
    inputs[1] = value(1, k_dims, k);
  }
  LevelsRun(const LevelsRun&) = delete;
  LevelsRun& operator=(const LevelsRun&) = delete;

  // The outputs' memory is asked for; `events` gets what was called in which order.
  onnxc_status run(const onnxc_api* api, onnxc_instance* instance, bool with_hook = true) {
    onnxc_run_options options = {};
    options.struct_size = sizeof options;
    options.allocate_context = options.hook_context = this;
    options.allocate_output = [](void* context, int32_t output, onnxc_dtype, int32_t, const int64_t* dims,
                                 int64_t bytes) -> void* {
      LevelsRun& to = *static_cast<LevelsRun*>(context);
      to.events += (output == 0 ? " y" : " z") + std::to_string(dims[0]);
      std::vector<float>& memory = output == 0 ? to.y : to.z;
      memory.resize(static_cast<size_t>(bytes) / sizeof(float));
      return memory.data();
    };
    options.hook = [](void* context, onnxc_instance*, int32_t step, int32_t when) -> int32_t {
      if (when == ONNXC_AFTER_STEP) static_cast<LevelsRun*>(context)->events += " " + std::to_string(step);
      return 0;
    };
    if (!with_hook) options.hook = nullptr;
    onnxc_value outputs[2] = {value(0, nullptr, y), value(0, nullptr, z)};
    outputs[0].data = outputs[1].data = nullptr;
    return api->run(instance, inputs, 2, outputs, 2, &options);
  }

  static onnxc_value value(int32_t rank, const int64_t* dims, std::vector<float>& data) {
    return FakeRun::value(rank, dims, data);
  }

  int64_t x_dims[1], k_dims[1] = {3};
  std::vector<float> x, k, y, z, expected_y, expected_z;
  std::string events;
  onnxc_value inputs[2];
};

}  // namespace onnxc
