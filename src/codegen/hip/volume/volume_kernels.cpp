#include "codegen/hip/volume/volume_kernels.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace onnxc {
namespace {

// In the order of runtime::VolumeKernels.
constexpr std::array window_types{DType::float32, DType::float16, DType::bfloat16};
// Windows, channels, and one to three axes.
constexpr size_t least_rank = 3, most_rank = 5;

// The types of those values that may be windows, and their ranks.
std::set<std::pair<DType, size_t>> windows(const Program& program, const std::vector<BufferId>& values) {
  std::set<std::pair<DType, size_t>> found;
  for (const BufferId id : values) {
    const Buffer& buffer = program.buffer(id);
    const size_t rank = buffer.shape.size();
    if (std::ranges::find(window_types, buffer.dtype) != window_types.end() && rank >= least_rank && rank <= most_rank)
      found.emplace(buffer.dtype, rank);
  }
  return found;
}

bool has_type(const std::set<std::pair<DType, size_t>>& windows, DType dtype) {
  return std::ranges::any_of(windows, [&](const auto& window) { return window.first == dtype; });
}

}  // namespace

VolumeKernels::VolumeKernels(const Program& program) {
  const auto inputs = windows(program, program.inputs), outputs = windows(program, program.outputs);
  const auto has_rank_of_input = [&](const auto& output) {
    return std::ranges::any_of(inputs, [&](const auto& input) { return input.second == output.second; });
  };
  if (std::ranges::none_of(outputs, has_rank_of_input)) return;
  for (const DType dtype : window_types)
    if (has_type(inputs, dtype)) add("cut", dtype, "cuts windows out of a volume");
  for (const DType dtype : window_types)
    if (has_type(outputs, dtype)) add("add", dtype, "adds windows to a volume's sums");
  kernels_.push_back({"volume_finish", "finishes sums of a volume", "FinishArguments", "finish_places"});
}

void VolumeKernels::add(const std::string& verb, DType dtype, const std::string& description) {
  const std::string arguments = verb == "cut" ? "CutArguments" : "AddArguments";
  kernels_.push_back({fmt::format("volume_{}_{}", verb, info(dtype).name), description, arguments,
                      fmt::format("{}_windows<{}>", verb, info(dtype).c_type)});
}

std::vector<std::string> VolumeKernels::headers() {
  return {"kernels/hip/volume/add_windows.h", "kernels/hip/volume/cut_windows.h", "kernels/hip/volume/finish_places.h"};
}

void VolumeKernels::print(TextWriter& device) const {
  for (const Kernel& kernel : kernels_)
    device.line(fmt::format(
        "extern \"C\" __global__ __launch_bounds__(nest_threads) void {}({} arguments) {{ {}(arguments); }}",
        kernel.name, kernel.arguments, kernel.instance));
}

std::string VolumeKernels::numbers(size_t first) const {
  const auto number = [&](const std::string& name) {
    const auto found = std::ranges::find(kernels_, name, &Kernel::name);
    return found == kernels_.end() ? std::string("-1")
                                   : std::to_string(first + static_cast<size_t>(found - kernels_.begin()));
  };
  std::vector<std::string> cut, add;
  for (const DType dtype : window_types) {
    cut.push_back(number(fmt::format("volume_cut_{}", info(dtype).name)));
    add.push_back(number(fmt::format("volume_add_{}", info(dtype).name)));
  }
  return fmt::format("{{{{{}}}, {{{}}}, {}}}", fmt::join(cut, ", "), fmt::join(add, ", "), number("volume_finish"));
}

}  // namespace onnxc
