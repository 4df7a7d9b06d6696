#include "gpu/copies/host_staging.h"

#include <string.h>

#include <algorithm>

namespace onnxc::runtime {
namespace {

// The bytes of so many that belong to the piece that begins at `begin`.
size_t size_of_piece(int64_t bytes, int64_t begin, int64_t piece_bytes) {
  return static_cast<size_t>(std::min(piece_bytes, bytes - begin));
}

}  // namespace

onnxc_status HostStaging::make(ErrorText& error) {
  if (streams_.are_made()) return ONNXC_OK;
  for (Piece& piece : pieces_) {
    GpuResult result;
    if (piece.memory == nullptr) result = gpu_.allocate_host(&piece.memory, piece_bytes, 0);
    if (!succeeded(gpu_, result, "for tensors of the host", error)) return status_of(result);
    if (piece.passed == nullptr) result = gpu_.create_event(&piece.passed, gpu_event_without_time);
    if (!succeeded(gpu_, result, "", error)) return status_of(result);
  }
  return streams_.make(error);
}

void HostStaging::wait() {
  if (!streams_.are_made()) return;
  ignore(gpu_.wait_for_stream(streams_.up));
  ignore(gpu_.wait_for_stream(streams_.down));
  for (Piece& piece : pieces_) piece.is_under_way = false;
}

void HostStaging::destroy() {
  streams_.destroy();
  for (Piece& piece : pieces_) {
    if (piece.passed != nullptr) ignore(gpu_.destroy_event(piece.passed));
    if (piece.memory != nullptr) ignore(gpu_.free_host(piece.memory));
    piece = {};
  }
}

onnxc_status HostStaging::wait_for(Piece& piece, ErrorText& error) {
  if (!piece.is_under_way) return ONNXC_OK;
  piece.is_under_way = false;
  const GpuResult result = gpu_.wait_for_event(piece.passed);
  return succeeded(gpu_, result, "", error) ? ONNXC_OK : status_of(result);
}

onnxc_status HostStaging::start(Piece& piece, void* to, const void* from, size_t bytes, GpuCopy kind,
                                ErrorText& error) {
  const bool goes_up = kind == GpuCopy::to_device;
  const GpuStream stream = goes_up ? streams_.up : streams_.down;
  GpuResult result = gpu_.copy(to, from, bytes, kind, stream);
  if (!succeeded(gpu_, result, goes_up ? "of an input" : "of an output", error)) return status_of(result);
  result = gpu_.record(piece.passed, stream);
  piece.is_under_way = result.is_ok();
  return succeeded(gpu_, result, "", error) ? ONNXC_OK : status_of(result);
}

onnxc_status HostStaging::send(void* to, const void* from, int64_t bytes, GpuStream stream, ErrorText& error) {
  onnxc_status status = make(error);
  if (status == ONNXC_OK) status = streams_.order(stream, streams_.up, error);
  for (int64_t begin = 0; begin < bytes && status == ONNXC_OK; begin += piece_bytes) {
    Piece& piece = pieces_[next_++ % piece_count];
    status = wait_for(piece, error);
    if (status != ONNXC_OK) return status;
    const size_t size = size_of_piece(bytes, begin, piece_bytes);
    memcpy(piece.memory, static_cast<const char*>(from) + begin, size);
    status = start(piece, static_cast<char*>(to) + begin, piece.memory, size, GpuCopy::to_device, error);
  }
  return status == ONNXC_OK ? streams_.order(streams_.up, stream, error) : status;
}

// All pieces of the ring are asked for before the first is waited for.
onnxc_status HostStaging::fetch(void* to, const void* from, int64_t bytes, GpuStream stream, ErrorText& error) {
  onnxc_status status = make(error);
  if (status == ONNXC_OK) status = streams_.order(stream, streams_.down, error);
  const int64_t first = next_;
  int64_t asked = 0;
  for (int64_t begin = 0; begin < bytes && status == ONNXC_OK; begin += piece_bytes) {
    for (; asked < bytes && asked < begin + piece_count * piece_bytes && status == ONNXC_OK; asked += piece_bytes) {
      Piece& piece = pieces_[next_++ % piece_count];
      status = wait_for(piece, error);  // of a send
      if (status == ONNXC_OK)
        status = start(piece, piece.memory, static_cast<const char*>(from) + asked,
                       size_of_piece(bytes, asked, piece_bytes), GpuCopy::to_host, error);
    }
    if (status != ONNXC_OK) return status;
    Piece& piece = pieces_[(first + begin / piece_bytes) % piece_count];
    status = wait_for(piece, error);
    if (status == ONNXC_OK)
      memcpy(static_cast<char*>(to) + begin, piece.memory, size_of_piece(bytes, begin, piece_bytes));
  }
  return status;
}

}  // namespace onnxc::runtime
