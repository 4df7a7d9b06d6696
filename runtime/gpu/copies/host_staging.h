// Tensors in the caller's memory on their way to the GPU and back.
//
// Drivers copy memory that is not pinned slowly, and may hold up the caller meanwhile. So tensors pass through a ring
// of pinned pieces, on streams of their own: while one piece is under way the host copies the next, and kernels of
// other instances go on.
#pragma once

#include "gpu/copies/copy_streams.h"

namespace onnxc::runtime {

class HostStaging {
 public:
  explicit HostStaging(const GpuLibrary& gpu) : gpu_(gpu), streams_(gpu) {}

  // Less goes in the stream of the run: events would take longer than its copy.
  static constexpr int64_t smallest = 64 * 1024;

  // Copies between memory of the host and of the current device, after the work in `stream` so far. Work that is put
  // into `stream` after a send sees its bytes; `from` may change at once. A fetch returns when its bytes are there.
  onnxc_status send(void* to, const void* from, int64_t bytes, GpuStream stream, ErrorText& error);
  onnxc_status fetch(void* to, const void* from, int64_t bytes, GpuStream stream, ErrorText& error);

  // Until nothing is on its way.
  void wait();
  void destroy();

 private:
  static constexpr int64_t piece_bytes = int64_t{4} << 20;
  static constexpr int32_t piece_count = 4;
  struct Piece {
    void* memory = nullptr;
    GpuEvent passed = nullptr;
    bool is_under_way = false;
  };
  onnxc_status make(ErrorText& error);
  onnxc_status wait_for(Piece& piece, ErrorText& error);
  onnxc_status start(Piece& piece, void* to, const void* from, size_t bytes, GpuCopy kind, ErrorText& error);

  const GpuLibrary& gpu_;
  CopyStreams streams_;
  Piece pieces_[piece_count];
  int64_t next_ = 0;
};

}  // namespace onnxc::runtime
