// The model.so's facts about itself, and how instances are made of it.
#include <cstdlib>
#include <string>

#include "runtime/loaded_model.h"

namespace onnxc {
namespace {

TEST(Api, RefusesNewerVersions) {
  LoadedModel model("fake_model.so");
  auto get_api = model.symbol<onnxc_get_api_function>("onnxc_get_api");
  EXPECT_EQ(get_api(ONNXC_ABI_VERSION + 1), nullptr);
  EXPECT_EQ(get_api(ONNXC_ABI_VERSION)->abi_version, ONNXC_ABI_VERSION);
  EXPECT_EQ(get_api(ONNXC_ABI_VERSION)->table_size, sizeof(onnxc_api));
}

TEST(Api, HasATableForEachEntry) {
  LoadedModel model("fake_model.so");
  ASSERT_EQ(model->entry_count, 2);
  EXPECT_STREQ(model->entry_name, "fake");
  EXPECT_EQ(model->entry(0), model.operator->());
  const onnxc_api* const other = model->entry(1);
  EXPECT_STREQ(other->entry_name, "other");
  EXPECT_EQ(other->entry(0), model.operator->());
  EXPECT_EQ(other->weights_bytes, model->weights_bytes);
  EXPECT_EQ(other->table_size, sizeof(onnxc_api));
  for (int32_t wrong : {-1, 2, INT32_MIN, INT32_MAX}) EXPECT_EQ(model->entry(wrong), nullptr);
  onnxc_instance* instance = nullptr;
  ASSERT_EQ(other->create(nullptr, &instance, nullptr, 0), ONNXC_OK);
  FakeRun run(7);
  EXPECT_EQ(run.run(model.operator->(), instance), ONNXC_OK);
  EXPECT_TRUE(run.right());
  other->destroy(instance);
}

TEST(Api, DescribesTheModel) {
  LoadedModel model("fake_model.so");
  EXPECT_STREQ(model->onnxc_version, "0.1.0");
  EXPECT_STREQ(model->target, "cpu x86-64");
  EXPECT_STREQ(model->information, "{\"model\": \"fake\"}");
  EXPECT_EQ(model->weights_bytes, 128);
  ASSERT_EQ(model->input_count, 2);
  ASSERT_EQ(model->output_count, 2);
  EXPECT_STREQ(model->input(0)->name, "x");
  EXPECT_EQ(model->input(0)->dtype, ONNXC_FLOAT32);
  EXPECT_EQ(model->input(0)->kind, ONNXC_TENSOR);
  ASSERT_EQ(model->input(0)->rank, 2);
  EXPECT_STREQ(model->input(0)->dims[0], "N");
  EXPECT_STREQ(model->input(0)->dims[1], "4");
  EXPECT_STREQ(model->output(1)->name, "z");
  EXPECT_STREQ(model->symbol(0), "N");
  for (int32_t wrong : {-1, 2}) {
    EXPECT_EQ(model->input(wrong), nullptr);
    EXPECT_EQ(model->output(wrong), nullptr);
    EXPECT_EQ(model->step_name(wrong), nullptr);
    EXPECT_EQ(model->step_nodes(wrong), nullptr);
    EXPECT_EQ(model->step_operators(wrong), nullptr);
    EXPECT_EQ(model->step_output_count(wrong), 0);
    EXPECT_EQ(model->step_output(1, wrong), nullptr);
  }
  EXPECT_EQ(model->symbol(1), nullptr);
  ASSERT_EQ(model->step_count, 2);
  EXPECT_STREQ(model->step_name(1), "loops add and sum");
  EXPECT_STREQ(model->step_nodes(1), "add\nsum");
  EXPECT_STREQ(model->step_operators(1), "Add\nReduceSum");
  EXPECT_EQ(model->step_output_count(1), 2);
  EXPECT_STREQ(model->step_output(0, 0)->name, "t");
}

TEST(Create, RefusesWhatItCannotDo) {
  LoadedModel model("fake_model.so");
  auto refuse = [&](onnxc_options options, onnxc_status status) {
    options.struct_size = sizeof options;
    onnxc_instance* instance = reinterpret_cast<onnxc_instance*>(&options);
    char error[ONNXC_ERROR_SIZE] = "";
    EXPECT_EQ(model->create(&options, &instance, error, sizeof error), status);
    EXPECT_EQ(instance, nullptr);
    return std::string(error);
  };
  onnxc_options options = {};
  options.threads = -1;
  EXPECT_EQ(refuse(options, ONNXC_INVALID_ARGUMENT),
            "the number of threads is -1, and it ranges from 0 (left to the model) to 1024");
  options = {};
  options.device = ONNXC_HIP;
  EXPECT_EQ(
      refuse(options, ONNXC_UNSUPPORTED_DEVICE),
      "this model was compiled for 'cpu x86-64' and has no code for a GPU; compile it with --target gpu (or cpu,gpu) "
      "to run it on one");
  options = {};
  options.flags = 64;
  EXPECT_EQ(refuse(options, ONNXC_INVALID_ARGUMENT), "onnxc_options.flags has unknown bits: 0x40");
  const auto with_variable = [&](const char* name, const char* value) {
    setenv(name, value, 1);
    const std::string text = refuse({}, ONNXC_INVALID_ARGUMENT);
    unsetenv(name);
    return text;
  };
  for (const char* value : {"x", "0", "-2", "1025", "4x", "4,2", " "})
    EXPECT_EQ(with_variable("ONNXC_THREADS", value), "the environment variable ONNXC_THREADS is '" +
                                                         std::string(value) +
                                                         "'; a number of threads from 1 to 1024 is expected");
  for (const char* value : {"x", "1.5", "-"})
    EXPECT_EQ(with_variable("ONNXC_SEED", value),
              "the environment variable ONNXC_SEED is '" + std::string(value) + "'; an integer is expected");
  char error[8];
  EXPECT_EQ(model->create(nullptr, nullptr, error, sizeof error), ONNXC_INVALID_ARGUMENT);
  EXPECT_STREQ(error, "the pla");
}

TEST(Create, RefusesAnotherCpu) {
  LoadedModel model("fake_model_other_cpu.so");
  onnxc_instance* instance = nullptr;
  char error[ONNXC_ERROR_SIZE] = "";
  EXPECT_EQ(model->create(nullptr, &instance, error, sizeof error), ONNXC_UNSUPPORTED_CPU);
  EXPECT_EQ(std::string(error).find("this model was compiled for 'cpu x86-64', and this CPU lacks avx1024 (it is '"),
            0u)
      << error;
}

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
TEST(Create, SurvivesEachFailedAllocation) {
  LoadedModel model("fake_model_faults.so");
  auto& left = *model.symbol<std::atomic<int>*>("allocations_left");
  int failures = 0;
  for (int allowed = 0;; ++allowed) {
    left = allowed;
    onnxc_options options = {};
    options.struct_size = sizeof options;
    options.threads = 2;
    onnxc_instance* instance = nullptr;
    char error[ONNXC_ERROR_SIZE] = "";
    onnxc_status status = model->create(&options, &instance, error, sizeof error);
    FakeRun values(100);
    if (status == ONNXC_OK) status = values.run(model.operator->(), instance);
    bool exhausted = left == 0;
    left = -1;
    if (status == ONNXC_OK) {
      EXPECT_TRUE(values.right());
    } else {
      ++failures;
      EXPECT_EQ(status, ONNXC_OUT_OF_MEMORY);
      if (instance != nullptr) {
        EXPECT_EQ(values.run(model.operator->(), instance), ONNXC_OK);
        EXPECT_TRUE(values.right());
      }
    }
    model->destroy(instance);
    if (!exhausted) break;
  }
  EXPECT_GT(failures, 8);
}
#endif

}  // namespace
}  // namespace onnxc
