// Whole runs as graphs of the library: a run whose kernels get the arguments of an earlier run is launched by one call.
#pragma once

#include "base/array.h"
#include "gpu/library/gpu_library.h"

namespace onnxc::runtime {

// The facts that determine all arguments of a run's launches: the addresses of its buffers, and the values of its
// symbols.
struct LaunchKey {
  void* const* buffers;
  int64_t buffer_count;
  const int64_t* symbols;
  int64_t symbol_count;
};

class CapturedGraphs {
 public:
  struct Entry {
    GpuGraphExecutable executable;  // null if the run launches nothing
    Array<char> key;
  };

  // Null if no run with this key was captured, or its entry has since been replaced.
  const Entry* find(const LaunchKey& key) const;
  // Adds an entry for what was captured (null: no launch); a full table loses its oldest entry. No graph of an earlier
  // run may still be running.
  onnxc_status add(const GpuLibrary& gpu, const LaunchKey& key, GpuGraph graph, const Entry*& entry, ErrorText& error);
  void destroy(const GpuLibrary& gpu);
  // The number of entries ever added.
  int64_t count() const { return count_; }

 private:
  // Enough for callers that take turns with two or three sets of buffers or of dims.
  static constexpr int64_t most_entries = 8;

  Entry entries_[most_entries] = {};
  int64_t count_ = 0;
};

}  // namespace onnxc::runtime
