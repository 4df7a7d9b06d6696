// The driver's calls about memory and copies.
#include <cstring>

#include "cuda_stand_in/api_call.h"

namespace cuda_stand_in {
namespace {

// The driver may read memory of the host that is not pinned at once and return, or wait for the stream. The stand-in
// does the one that a program is less likely to be ready for: late, the source is read and nothing else is done; early,
// the stream has come to its end. A capture takes no such memory.
int enqueue_copy(StandIn& stand_in, void* to, const void* from, size_t bytes, const void* stream, const void* host) {
  const int context = stand_in.context_of(stream);
  const bool is_pageable = host != nullptr && !stand_in.memory.is_pinned(host, bytes);
  gpu_streams::Stream& found = stand_in.streams.stream(stream, context);
  if (is_pageable) stand_in.streams.refuse_while_capturing(found);
  const bool runs_early = stand_in.streams.pending.runs_early();
  auto check = [&stand_in, to, from, bytes, host] {
    if (host != to) stand_in.memory.require_known(to, bytes, "the destination");
    if (host != from) stand_in.memory.require_known(from, bytes, "the source");
  };
  if (is_pageable && host == from && !runs_early) {
    const auto* begin = static_cast<const std::byte*>(from);
    return stand_in.streams.enqueue(stream, context, [=, staged = std::vector<std::byte>(begin, begin + bytes)] {
      check();
      std::memcpy(to, staged.data(), bytes);
      return 0;
    });
  }
  const int result = stand_in.streams.enqueue(stream, context, [=] {
    check();
    std::memmove(to, from, bytes);
    return 0;
  });
  return result == 0 && is_pageable && runs_early ? stand_in.streams.finish(stream, context) : result;
}

}  // namespace
}  // namespace cuda_stand_in

using namespace cuda_stand_in;

extern "C" {

int cuPointerGetAttribute(void* value, int attribute, const void* pointer) {
  return call("cuPointerGetAttribute", [&](StandIn& stand_in) {
    int context = 0;
    const int kind = stand_in.memory.kind_of(pointer, context);
    gpu_streams::require(kind != 0, gpu_streams::invalid_value, "the pointer is not of this driver");
    gpu_streams::require(attribute == 2 || attribute == 9, gpu_streams::not_supported, "an attribute not known here");
    *static_cast<int*>(value) = attribute == 2 ? kind : stand_in.context_of_number(context)->device;
  });
}

int cuMemAlloc_v2(void** pointer, size_t bytes) {
  return call("cuMemAlloc_v2", [&](StandIn& stand_in) {
    stand_in.streams.refuse_while_capturing();
    *pointer = stand_in.allocate(bytes);
  });
}

int cuMemFree_v2(void* pointer) {
  return call_to_give_back("cuMemFree_v2", [&](StandIn& stand_in) {
    stand_in.streams.refuse_while_capturing();
    const int result = stand_in.streams.finish_device(stand_in.current().number);
    stand_in.memory.free(pointer);
    return result;
  });
}

int cuMemHostAlloc(void** pointer, size_t bytes, unsigned) {
  return call("cuMemHostAlloc", [&](StandIn& stand_in) {
    stand_in.streams.refuse_while_capturing();
    *pointer = stand_in.memory.allocate_host(stand_in.current().number, bytes);
  });
}

int cuMemFreeHost(void* pointer) {
  return call_to_give_back("cuMemFreeHost", [&](StandIn& stand_in) {
    stand_in.streams.refuse_while_capturing();
    const int result = stand_in.streams.finish_device(stand_in.current().number);
    stand_in.memory.free_host(pointer);
    return result;
  });
}

int cuMemcpyHtoDAsync_v2(void* to, const void* from, size_t bytes, void* stream) {
  return call("cuMemcpyHtoDAsync_v2", [&](StandIn& stand_in) {
    stand_in.memory.require_device(to, bytes, "the destination");
    stand_in.memory.require_host(from, "the source");
    return enqueue_copy(stand_in, to, from, bytes, stream, from);
  });
}

int cuMemcpyDtoHAsync_v2(void* to, const void* from, size_t bytes, void* stream) {
  return call("cuMemcpyDtoHAsync_v2", [&](StandIn& stand_in) {
    stand_in.memory.require_device(from, bytes, "the source");
    stand_in.memory.require_host(to, "the destination");
    return enqueue_copy(stand_in, to, from, bytes, stream, to);
  });
}

// Between any memory that the driver knows.
int cuMemcpyAsync(void* to, const void* from, size_t bytes, void* stream) {
  return call("cuMemcpyAsync", [&](StandIn& stand_in) {
    stand_in.memory.require_known(to, bytes, "the destination");
    stand_in.memory.require_known(from, bytes, "the source");
    return enqueue_copy(stand_in, to, from, bytes, stream, nullptr);
  });
}

// Waits for nothing but its own context's null stream.
int cuMemcpyDtoH_v2(void* to, const void* from, size_t bytes) {
  return call("cuMemcpyDtoH_v2", [&](StandIn& stand_in) {
    stand_in.streams.refuse_while_anything_captures(gpu_streams::capture_implicit);
    stand_in.memory.require_device(from, bytes, "the source");
    stand_in.memory.require_host(to, "the destination");
    const int result = enqueue_copy(stand_in, to, from, bytes, nullptr, to);
    return result == 0 ? stand_in.streams.finish(nullptr, stand_in.current().number) : result;
  });
}

int cuMemcpyHtoD_v2(void* to, const void* from, size_t bytes) {
  return call("cuMemcpyHtoD_v2", [&](StandIn& stand_in) {
    stand_in.streams.refuse_while_anything_captures(gpu_streams::capture_implicit);
    stand_in.memory.require_device(to, bytes, "the destination");
    stand_in.memory.require_host(from, "the source");
    const int result = enqueue_copy(stand_in, to, from, bytes, nullptr, from);
    return result == 0 ? stand_in.streams.finish(nullptr, stand_in.current().number) : result;
  });
}

int cuMemsetD8Async(void* to, unsigned char value, size_t bytes, void* stream) {
  return call("cuMemsetD8Async", [&](StandIn& stand_in) {
    stand_in.memory.require_device(to, bytes, "the destination");
    return stand_in.streams.enqueue(stream, stand_in.context_of(stream), [=, &stand_in] {
      stand_in.memory.require_device(to, bytes, "the destination");
      std::memset(to, value, bytes);
      return 0;
    });
  });
}

}  // extern "C"
