// A model.so opened as a user does, and the fake model's values.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <string>
#include <vector>

#include "onnxc.h"

namespace onnxc {

class LoadedModel {
 public:
  explicit LoadedModel(const char* file) {
    library_ = dlopen((std::string(ONNXC_TEST_FILES "/") + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    api_ = symbol<onnxc_get_api_function>("onnxc_get_api")(ONNXC_ABI_VERSION);
  }
  ~LoadedModel() { dlclose(library_); }
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  const onnxc_api* operator->() const { return api_; }

  template <class Pointer>
  Pointer symbol(const char* name) const {
    return reinterpret_cast<Pointer>(dlsym(library_, name));
  }

  const struct link_map* link_map() const {
    struct link_map* map = nullptr;
    dlinfo(library_, RTLD_DI_LINKMAP, &map);
    return map;
  }

  // An instance, or a test failure.
  onnxc_instance* create(int threads, uint32_t flags = 0) const {
    onnxc_options options = {};
    options.struct_size = sizeof options;
    options.threads = threads;
    options.flags = flags;
    onnxc_instance* instance = nullptr;
    char error[ONNXC_ERROR_SIZE] = "";
    EXPECT_EQ(api_->create(&options, &instance, error, sizeof error), ONNXC_OK) << error;
    return instance;
  }

 private:
  void* library_;
  const onnxc_api* api_;
};

// Makes an instance on a GPU; if that fails, `error` gets the text.
inline onnxc_status create_on_device(const LoadedModel& model, onnxc_instance*& instance, std::string& error,
                                     uint32_t flags = 0, int device_index = 0) {
  onnxc_options options = {};
  options.struct_size = sizeof options;
  options.flags = flags;
  options.device = ONNXC_GPU;
  options.device_index = device_index;
  char text[ONNXC_ERROR_SIZE] = "";
  const onnxc_status status = model->create(&options, &instance, text, sizeof text);
  error = text;
  return status;
}

// Values for one run of the fake model, all elements small integers.
struct FakeRun {
  explicit FakeRun(int64_t n) : x_dims{n, 4}, x(size(n * 4)), k{10, 20, 30, 40}, y(size(n * 4), -1), z(size(n), -1) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8;
    values[0] = value(2, x_dims, x);
    values[1] = value(1, k_dims, k);
    values[2] = value(0, nullptr, y);
    values[3] = value(0, nullptr, z);
  }
  FakeRun(const FakeRun&) = delete;
  FakeRun& operator=(const FakeRun&) = delete;

  static size_t size(int64_t n) { return static_cast<size_t>(n); }

  static onnxc_value value(int32_t rank, const int64_t* dims, std::vector<float>& data) {
    onnxc_value value = {};
    value.dtype = ONNXC_FLOAT32;
    value.rank = rank;
    value.dims = dims;
    value.data = data.data();
    value.bytes = static_cast<int64_t>(data.size() * sizeof(float));
    return value;
  }

  onnxc_status run(const onnxc_api* api, onnxc_instance* instance, const onnxc_run_options* options = nullptr) {
    return api->run(instance, values, 2, values + 2, 2, options);
  }

  bool right() const {
    for (size_t row = 0; row < z.size(); ++row) {
      float sum = 0;
      for (size_t i = 0; i < 4; ++i) {
        float t = x[row * 4 + i] * static_cast<float>(i + 1);
        sum += t;
        if (y[row * 4 + i] != t + k[i]) return false;
      }
      if (z[row] != sum) return false;
    }
    return true;
  }

  int64_t x_dims[2];
  int64_t k_dims[1] = {4};
  std::vector<float> x, k, y, z;
  onnxc_value values[4];  // x, k, y, z
};

}  // namespace onnxc
