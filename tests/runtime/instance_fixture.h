// An instance of the hand-written model, for the tests of its calls.
#pragma once

#include "runtime/loaded_model.h"

namespace onnxc {

class Instance : public ::testing::Test {
 protected:
  ~Instance() override { model->destroy(instance); }

  std::string error() { return model->last_error(instance); }
  onnxc_status run(FakeRun& values, const onnxc_run_options* options = nullptr) {
    return values.run(model.operator->(), instance, options);
  }
  void expect_right(int64_t n) {
    FakeRun values(n);
    ASSERT_EQ(run(values), ONNXC_OK) << error();
    ASSERT_TRUE(values.right()) << "N = " << n;
  }

  LoadedModel model{"fake_model.so"};
  onnxc_instance* instance = model.create(2);
};

}  // namespace onnxc
