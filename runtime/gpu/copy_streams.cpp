#include "gpu/copy_streams.h"

namespace onnxc::runtime {

onnxc_status CopyStreams::make(ErrorText& error) {
  for (hipStream_t* stream : {&up, &down}) {
    if (*stream != nullptr) continue;
    const hipError_t result = hip_.stream_create(stream, hipStreamNonBlocking);
    if (!succeeded(hip_, result, "hipStreamCreateWithFlags", error)) return status_of(result);
  }
  const hipError_t result = hip_.event_create(&order_, hipEventDisableTiming);
  return succeeded(hip_, result, "hipEventCreateWithFlags", error) ? ONNXC_OK : status_of(result);
}

void CopyStreams::destroy() {
  for (hipStream_t* stream : {&up, &down}) {
    if (*stream == nullptr) continue;
    ignore(hip_.stream_synchronize(*stream));
    ignore(hip_.stream_destroy(*stream));
    *stream = nullptr;
  }
  if (order_ != nullptr) ignore(hip_.event_destroy(order_));
  order_ = nullptr;
}

onnxc_status CopyStreams::order(hipStream_t earlier, hipStream_t later, ErrorText& error) {
  hipError_t result = hip_.event_record(order_, earlier);
  if (!succeeded(hip_, result, "hipEventRecord", error)) return status_of(result);
  result = hip_.stream_wait_event(later, order_, 0);
  return succeeded(hip_, result, "hipStreamWaitEvent", error) ? ONNXC_OK : status_of(result);
}

}  // namespace onnxc::runtime
