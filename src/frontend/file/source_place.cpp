#include "frontend/file/source_place.h"

#include <algorithm>
#include <string>
#include <vector>

namespace onnxc {
namespace {

constexpr size_t longest = 300;  // of each text

// Fit to stand in one line of a list.
std::string one_line(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t\r\n");
  if (first == std::string_view::npos || last == std::string_view::npos) return {};
  std::string result(text.substr(first, std::min(last + 1 - first, longest)));
  std::ranges::replace_if(result, [](char character) { return static_cast<unsigned char>(character) < ' '; }, ' ');
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// From the package on if it is installed, else the file and its folder.
std::string_view short_path(std::string_view path) {
  constexpr std::string_view packages = "-packages/";  // site- or, by Debian, dist-
  if (const size_t end = path.rfind(packages); end != std::string_view::npos) return path.substr(end + packages.size());
  const size_t file = path.rfind('/');
  if (file == std::string_view::npos || file == 0) return path;
  const size_t folder = path.rfind('/', file - 1);
  return folder == std::string_view::npos ? path : path.substr(folder + 1);
}

bool is_of_pytorch(std::string_view path) {
  return short_path(path).starts_with("torch/") || path.find("/torch/nn/") != std::string_view::npos;
}

// `File "PATH", line 12, in forward`; an empty path for another line.
struct Frame {
  std::string_view path, number;
};

Frame read_frame(std::string_view line) {
  constexpr std::string_view begin = "File \"", middle = "\", line ";
  const size_t start = line.find_first_not_of(' ');
  if (start == std::string_view::npos || !line.substr(start).starts_with(begin)) return {};
  line.remove_prefix(start + begin.size());
  const size_t end = line.find(middle);
  if (end == std::string_view::npos) return {};
  const std::string_view rest = line.substr(end + middle.size());
  return {line.substr(0, end), rest.substr(0, rest.find_first_not_of("0123456789"))};
}

}  // namespace

SourcePlace place_of_stack_trace(std::string_view trace) {
  SourcePlace best;
  bool best_is_pytorch = true;
  const std::vector<std::string_view> lines = split(trace, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    const Frame frame = read_frame(lines[i]);
    if (frame.path.empty()) continue;
    const bool is_pytorch = is_of_pytorch(frame.path);
    if (is_pytorch && !best_is_pytorch) continue;
    best_is_pytorch = is_pytorch;
    best.line = one_line(short_path(frame.path)) + ":" + one_line(frame.number);
    best.code = i + 1 < lines.size() && read_frame(lines[i + 1]).path.empty() ? one_line(lines[i + 1]) : "";
  }
  return best;
}

std::string module_of_scopes(std::string_view scopes) {
  std::vector<std::string> names;
  for (size_t i = 0; i < scopes.size(); ++i) {
    const char quotation = scopes[i];
    if (quotation != '\'' && quotation != '"') continue;
    std::string name;
    for (++i; i < scopes.size() && scopes[i] != quotation; ++i) {
      if (scopes[i] == '\\' && i + 1 < scopes.size()) ++i;
      name += scopes[i];
    }
    names.push_back(std::move(name));
  }
  return names.size() < 2 ? "" : one_line(names[names.size() - 2]);
}

std::string module_of_name(std::string_view name) {
  if (!name.starts_with('/')) return {};
  const std::vector<std::string_view> scopes = split(name.substr(1), '/');
  std::string module;
  for (size_t i = 0; i + 1 < scopes.size(); ++i) {
    // The path so far, its last scope left out if this one repeats it.
    const bool repeats = i > 0 && scopes[i].starts_with(std::string(scopes[i - 1]) + ".");
    if (repeats) module.resize(module.size() - scopes[i - 1].size());
    if (!repeats && !module.empty()) module += '.';
    module += scopes[i];
  }
  return one_line(module);
}

SourcePlace read_source_place(const onnx::NodeProto& node) {
  SourcePlace place;
  std::string module;
  for (const auto& entry : node.metadata_props()) {
    if (entry.key() == "pkg.torch.onnx.stack_trace") place = place_of_stack_trace(entry.value());
    if (entry.key() == "pkg.torch.onnx.name_scopes") module = module_of_scopes(entry.value());
  }
  place.module = module.empty() && place.line.empty() ? module_of_name(node.name()) : module;
  return place;
}

}  // namespace onnxc
