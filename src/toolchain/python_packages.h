// Programs that pip installs with a Python package.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <optional>

namespace onnxc {

// The first of these files, each as it lies in site-packages ("ziglang/zig"), in the Python environment that onnxc is
// installed in, else in the active virtual environment.
std::optional<std::filesystem::path> find_in_python_packages(std::initializer_list<const char*> files);

}  // namespace onnxc
