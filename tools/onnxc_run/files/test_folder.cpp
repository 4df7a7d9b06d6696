#include "onnxc_run/files/test_folder.h"

#include <algorithm>
#include <charconv>

#include "onnxc_run/files/tensor_files.h"
#include "onnxc_run/inputs.h"
#include "onnxc_run/reports/results.h"
#include "support/text.h"

namespace onnxc {
namespace {

constexpr std::string_view prefix = "test_data_set_";

std::vector<Tensor> read_numbered(const std::filesystem::path& folder, const std::string& stem, int32_t count) {
  std::vector<Tensor> tensors;
  for (int32_t i = 0; i < count; ++i) {
    const std::filesystem::path file = folder / fmt::format("{}_{}.pb", stem, i);
    std::filesystem::path array = file;
    array.replace_extension(".npy");
    user_check(std::filesystem::exists(file) || std::filesystem::exists(array),
               "there is no {}, nor the same as .npy; a folder of tests has a file for each input and output",
               quote(file.string()));
    tensors.push_back(read_tensor(std::filesystem::exists(file) ? file : array));
  }
  return tensors;
}

}  // namespace

std::vector<std::filesystem::path> find_test_data(const std::filesystem::path& folder) {
  user_check(std::filesystem::is_directory(folder), "{}: no such folder", quote(folder.string()));
  std::vector<std::pair<long, std::filesystem::path>> numbered;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (!entry.is_directory() || !name.starts_with(prefix)) continue;
    long number = 0;
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    numbered.emplace_back(number, entry.path());
  }
  std::ranges::sort(numbered);
  std::vector<std::filesystem::path> folders;
  for (auto& [number, path] : numbered) folders.push_back(path);
  if (folders.empty()) folders.push_back(folder);
  return folders;
}

bool run_tests(Session& session, const RunOptions& options) {
  const onnxc_api& api = session.api();
  Results results(options);
  for (const std::filesystem::path& folder : find_test_data(options.tests)) {
    std::vector<Tensor> inputs = read_numbered(folder, "input", api.input_count);
    std::vector<Tensor> expected = read_numbered(folder, "output", api.output_count);
    std::vector<Tensor> outputs = session.run(inputs);
    for (int32_t i = 0; i < api.output_count; ++i) {
      size_t index = static_cast<size_t>(i);
      results.compare(api.output(i)->name, outputs[index], expected[index], folder.filename().string());
    }
  }
  return results.report();
}

}  // namespace onnxc
