// Which kernels of volumes a model has: those for the types of its windows, if it has any.
#include "codegen/hip/volume/volume_kernels.h"

#include <gmock/gmock.h>

namespace onnxc {
namespace {

using ::testing::HasSubstr;

struct Value {
  DType dtype;
  size_t rank;
};

VolumeKernels kernels_of(const std::vector<Value>& inputs, const std::vector<Value>& outputs) {
  Program program;
  const auto add = [&](const Value& value) {
    Buffer buffer;
    buffer.dtype = value.dtype;
    buffer.shape = Shape(value.rank, Expr(4));
    return program.add(std::move(buffer));
  };
  for (const Value& value : inputs) program.inputs.push_back(add(value));
  for (const Value& value : outputs) program.outputs.push_back(add(value));
  return VolumeKernels(program);
}

std::vector<std::string> names(const VolumeKernels& kernels) {
  std::vector<std::string> found;
  for (const VolumeKernels::Kernel& kernel : kernels.kernels()) found.push_back(kernel.name);
  return found;
}

TEST(VolumeKernels, AreThoseOfTheTypesOfWindows) {
  const VolumeKernels kernels = kernels_of({{DType::float32, 5}}, {{DType::float16, 5}, {DType::float32, 5}});
  EXPECT_THAT(names(kernels), ::testing::ElementsAre("volume_cut_float32", "volume_add_float32", "volume_add_float16",
                                                     "volume_finish"));
  EXPECT_EQ(kernels.numbers(7), "{{7, -1, -1}, {8, 9, -1}, 10}");
  TextWriter device;
  kernels.print(device);
  const std::string text = device.take();
  EXPECT_THAT(text, HasSubstr("void volume_cut_float32(CutArguments arguments) { cut_windows<float>(arguments); }"));
  EXPECT_THAT(text,
              HasSubstr("void volume_add_float16(AddArguments arguments) { add_windows<float16_t>(arguments); }"));
  EXPECT_THAT(text, HasSubstr("void volume_finish(FinishArguments arguments) { finish_places(arguments); }"));
  EXPECT_EQ(kernels_of({{DType::bfloat16, 3}}, {{DType::bfloat16, 3}}).numbers(0), "{{-1, -1, 0}, {-1, -1, 1}, 2}");
}

TEST(VolumeKernels, AreNotInAModelWithoutWindows) {
  const std::vector<std::pair<std::vector<Value>, std::vector<Value>>> models = {
      {{{DType::float32, 4}}, {{DType::float32, 2}}},  // classes of an image
      {{{DType::float32, 2}}, {{DType::float32, 2}}},  // no spatial axis
      {{{DType::float32, 6}}, {{DType::float32, 6}}},  // four
      {{{DType::float32, 5}}, {{DType::float32, 4}}}, {{{DType::int64, 3}}, {{DType::float32, 3}}},
      {{{DType::float32, 5}}, {{DType::uint8, 5}}}};
  for (const auto& [inputs, outputs] : models) {
    const VolumeKernels kernels = kernels_of(inputs, outputs);
    EXPECT_TRUE(kernels.empty());
    EXPECT_TRUE(kernels.kernels().empty());
  }
}

}  // namespace
}  // namespace onnxc
