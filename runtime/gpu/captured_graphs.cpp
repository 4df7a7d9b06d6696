#include "gpu/captured_graphs.h"

#include <string.h>

#include <algorithm>

namespace onnxc::runtime {
namespace {

struct KeyBytes {
  explicit KeyBytes(const LaunchKey& key)
      : buffers(static_cast<size_t>(key.buffer_count) * sizeof *key.buffers),
        symbols(static_cast<size_t>(key.symbol_count) * sizeof *key.symbols) {}
  size_t buffers, symbols;
};

bool is_equal(const Array<char>& stored, const LaunchKey& key) {
  const KeyBytes bytes(key);
  return memcmp(stored.data(), key.buffers, bytes.buffers) == 0 &&
         (bytes.symbols == 0 || memcmp(stored.data() + bytes.buffers, key.symbols, bytes.symbols) == 0);
}

bool store(const LaunchKey& key, Array<char>& stored) {
  const KeyBytes bytes(key);
  if (!stored.allocate(static_cast<int64_t>(bytes.buffers + bytes.symbols))) return false;
  memcpy(stored.data(), key.buffers, bytes.buffers);
  if (bytes.symbols > 0) memcpy(stored.data() + bytes.buffers, key.symbols, bytes.symbols);
  return true;
}

}  // namespace

const CapturedGraphs::Entry* CapturedGraphs::find(const LaunchKey& key) const {
  for (const Entry& entry : entries_)
    if (entry.key.size() > 0 && is_equal(entry.key, key)) return &entry;
  return nullptr;
}

onnxc_status CapturedGraphs::add(const GpuLibrary& gpu, const LaunchKey& key, GpuGraph graph, const Entry*& entry,
                                 ErrorText& error) {
  Entry& place = entries_[count_ % most_entries];
  if (place.executable != nullptr) ignore(gpu.destroy_executable(place.executable));
  place.executable = nullptr;
  place.key.release();
  if (graph != nullptr) {
    GpuGraphExecutable executable = nullptr;
    const GpuResult result = gpu.instantiate(&executable, graph, 0);
    if (!succeeded(gpu, result, "", error)) return status_of(result);
    place.executable = executable;
  }
  if (!store(key, place.key)) {
    error.append("no memory for a graph");
    return ONNXC_OUT_OF_MEMORY;
  }
  ++count_;
  entry = &place;
  return ONNXC_OK;
}

void CapturedGraphs::destroy(const GpuLibrary& gpu) {
  for (Entry& entry : entries_) {
    if (entry.executable != nullptr) ignore(gpu.destroy_executable(entry.executable));
    entry.executable = nullptr;
    entry.key.release();
  }
}

}  // namespace onnxc::runtime
