// Compiled models, kept by what they were made of. The folder and its bound are those of the Python package
// (python/onnxc/cache.py): $ONNXC_MODEL_CACHE and $ONNXC_MODEL_CACHE_BYTES; `python -m onnxc.cache` shows and clears
// it.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace onnxc::provider {

// Where compiled models are kept; nothing where they are not, or where the folder cannot be made.
std::optional<std::filesystem::path> cache_folder();

// Where a compiled model is kept, or would be: the name is made of the bytes of the model, the compiler's file, the
// options, the C++ compiler that the environment names, and this CPU.
std::filesystem::path cached_file(const std::filesystem::path& folder, std::string_view model,
                                  const std::filesystem::path& compiler, std::span<const std::string> options);

// Whether it is there; it then counts as opened just now.
bool find_cached(const std::filesystem::path& file);

// Removes what was opened longest ago, until the rest is within the bound; the newest stays whatever its size.
void make_room(const std::filesystem::path& folder);

}  // namespace onnxc::provider
