#include "provider/model_cache.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "support/diagnostics.h"
#include "support/environment_error.h"
#include "support/hash.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc::provider {
namespace {

namespace fs = std::filesystem;

constexpr const char* refusal_extension = ".refused.json";
constexpr uintmax_t usual_bytes = uintmax_t{4} << 30;

// The CPU's own words about its features.
std::string features_of_this_cpu() {
  std::string text;
  for (const auto [leaf, subleaf] : {std::pair{1u, 0u}, std::pair{7u, 0u}, std::pair{7u, 1u}}) {
    std::array<unsigned, 4> registers{};
    __get_cpuid_count(leaf, subleaf, &registers[0], &registers[1], &registers[2], &registers[3]);
    if (leaf == 1) registers[1] = 0;  // the number of the core that asks
    for (const unsigned each : registers) text += fmt::format("{:x} ", each);
  }
  return text;
}

// Size, time and inode: another build of the compiler is another file.
std::string state_of(const fs::path& file) {
  struct stat state{};
  if (::stat(file.c_str(), &state) != 0) return {};
  return fmt::format("{} {} {} {}", state.st_size, state.st_mtim.tv_sec, state.st_mtim.tv_nsec, state.st_ino);
}

std::string text_or_nothing(const char* value) { return value != nullptr ? value : ""; }

std::string sha256_of(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

uintmax_t most_bytes() {
  const std::string text = text_or_nothing(std::getenv("ONNXC_MODEL_CACHE_BYTES"));
  if (text.empty()) return usual_bytes;
  uintmax_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || end != text.data() + text.size())
    throw EnvironmentError("ONNXC_MODEL_CACHE_BYTES",
                           fmt::format(" is {}; a number of bytes is expected", quote(text)));
  return bytes;
}

fs::path chosen_folder() {
  if (const char* chosen = std::getenv("ONNXC_MODEL_CACHE")) return chosen;
  const std::string caches = text_or_nothing(std::getenv("XDG_CACHE_HOME"));
  if (!caches.empty()) return fs::path(caches) / "onnxc" / "models";
  const std::string home = text_or_nothing(std::getenv("HOME"));
  return home.empty() ? fs::path() : fs::path(home) / ".cache" / "onnxc" / "models";
}

// Other files that the folder may have are not the cache's.
bool is_kept_model(const fs::path& file) {
  const std::string stem = file.stem().string();
  return file.extension() == ".so" && stem.size() == 64 &&
         stem.find_first_not_of("0123456789abcdef") == std::string::npos;
}

struct KeptFile {
  fs::file_time_type opened;
  uintmax_t size;
  fs::path path;
};

}  // namespace

std::optional<ModelCache> find_cache() {
  const fs::path folder = chosen_folder();
  if (folder.empty()) return std::nullopt;
  const uintmax_t bytes = most_bytes();
  try {
    make_folder(folder);
    return ModelCache{folder, bytes};
  } catch (const UserError& error) {
    if (std::getenv("ONNXC_MODEL_CACHE") != nullptr)
      throw EnvironmentError("ONNXC_MODEL_CACHE", fmt::format(": {}", error.what()));
    return std::nullopt;
  }
}

std::string cache_name(std::string_view model, const fs::path& compiler, std::span<const std::string> options) {
  std::string parts = sha256_of(model);
  for (const std::string& part :
       {state_of(compiler), text_or_nothing(std::getenv("ONNXC_CXX")), features_of_this_cpu()})
    parts += '\0' + part;
  for (const std::string& option : options) parts += '\0' + option;
  return sha256_of(parts);
}

bool find_cached(const fs::path& file) {
  std::error_code error;
  fs::last_write_time(file, fs::file_time_type::clock::now(), error);
  return !error;
}

std::optional<Refusal> find_refusal(const std::string& name) {
  const std::optional<ModelCache> cache = find_cache();
  if (!cache || !fs::exists(cache->folder / (name + refusal_extension))) return std::nullopt;
  const std::shared_ptr<const MappedFile> file = map_file(cache->folder / (name + refusal_extension));
  const nlohmann::json read = nlohmann::json::parse(file->text(), nullptr, false);
  if (!read.contains("nodes") || !read.contains("reason")) return std::nullopt;
  return Refusal{read["nodes"].get<std::vector<size_t>>(), read["reason"].get<std::string>()};
}

void keep_refusal(const std::string& name, const Refusal& refusal) {
  const nlohmann::json text = {{"nodes", refusal.nodes}, {"reason", refusal.reason}};
  if (const std::optional<ModelCache> cache = find_cache())
    write_file(cache->folder / (name + refusal_extension),
               text.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
}

void make_room(const ModelCache& cache) {
  std::error_code error;  // of files that another process removes meanwhile
  std::vector<KeptFile> files;
  uintmax_t total = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(cache.folder, error)) {
    if (!is_kept_model(file.path())) continue;
    const KeptFile kept{file.last_write_time(error), file.file_size(error), file.path()};
    if (error) continue;
    files.push_back(kept);
    total += kept.size;
  }
  std::ranges::sort(files, {}, &KeptFile::opened);
  for (size_t i = 0; i + 1 < files.size() && total > cache.most_bytes; ++i) {
    fs::remove(files[i].path, error);
    total -= files[i].size;
  }
}

}  // namespace onnxc::provider
