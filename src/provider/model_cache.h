// Compiled models, kept by what they were made of. The folder and its bound are those of the Python package
// (python/onnxc/cache.py): $ONNXC_MODEL_CACHE and $ONNXC_MODEL_CACHE_BYTES; `python -m onnxc.cache` shows and clears
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onnxc::provider {

// The folder of compiled models, and how much of them is kept.
struct ModelCache {
  std::filesystem::path folder;
  uintmax_t most_bytes;
};

// Nothing if none are kept, or the usual folder cannot be made. UsageError for variables of the environment that have
// no meaning.
std::optional<ModelCache> find_cache();

// The name of a compiled model, made of the bytes of the model, the compiler's file, the options, the C++ compiler that
// the environment names, and this CPU. Its file has the extension ".so".
std::string cache_name(std::string_view model, const std::filesystem::path& compiler,
                       std::span<const std::string> options);

// Whether a compiled model is there; it then counts as opened just now.
bool find_cached(const std::filesystem::path& file);

// Why a model cannot be compiled, and the nodes at fault (faulty_nodes).
struct Refusal {
  std::vector<size_t> nodes;
  std::string reason;
};

// The refusal that was written of a model of this name, which has no compiled one; nothing if there is none, or no
// cache.
std::optional<Refusal> find_refusal(const std::string& name);
void keep_refusal(const std::string& name, const Refusal& refusal);

// Removes what was opened longest ago, until the rest is within the bound; the newest stays whatever its size.
void make_room(const ModelCache& cache);

}  // namespace onnxc::provider
