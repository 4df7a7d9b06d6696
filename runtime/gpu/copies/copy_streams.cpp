#include "gpu/copies/copy_streams.h"

#include <initializer_list>

namespace onnxc::runtime {

onnxc_status CopyStreams::make(ErrorText& error) {
  for (GpuStream* stream : {&up, &down}) {
    if (*stream != nullptr) continue;
    const GpuResult result = gpu_.create_stream(stream, gpu_stream_non_blocking);
    if (!succeeded(gpu_, result, "", error)) return status_of(result);
  }
  const GpuResult result = gpu_.create_event(&order_, gpu_event_without_time);
  return succeeded(gpu_, result, "", error) ? ONNXC_OK : status_of(result);
}

void CopyStreams::destroy() {
  for (GpuStream* stream : {&up, &down}) {
    if (*stream == nullptr) continue;
    ignore(gpu_.wait_for_stream(*stream));
    ignore(gpu_.destroy_stream(*stream));
    *stream = nullptr;
  }
  if (order_ != nullptr) ignore(gpu_.destroy_event(order_));
  order_ = nullptr;
}

onnxc_status CopyStreams::order(GpuStream earlier, GpuStream later, ErrorText& error) {
  GpuResult result = gpu_.record(order_, earlier);
  if (!succeeded(gpu_, result, "", error)) return status_of(result);
  result = gpu_.stream_waits_for(later, order_, 0);
  return succeeded(gpu_, result, "", error) ? ONNXC_OK : status_of(result);
}

}  // namespace onnxc::runtime
