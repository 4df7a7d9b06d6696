#include "gpu/device_weights.h"

#include <stdlib.h>

#include <new>

namespace onnxc::runtime {
namespace {

constinit DeviceWeights* all = nullptr;

}  // namespace

DeviceWeights* DeviceWeights::acquire(const GpuLibrary& gpu, const GpuDevice& device, const WeightBlock& block,
                                      onnxc_status& status, ErrorText& error) {
  status = ONNXC_OK;
  for (DeviceWeights* known = all; known != nullptr; known = known->next_) {
    if (&known->block_ != &block || known->device_ != device.index || &known->gpu_ != &gpu) continue;
    ++known->users_;
    return known;
  }
  void* const memory = malloc(sizeof(DeviceWeights));
  if (memory == nullptr) {
    error.append("no memory for an instance");
    status = ONNXC_OUT_OF_MEMORY;
    return nullptr;
  }
  auto* const weights = new (memory) DeviceWeights(gpu, device.index, block);
  weights->next_ = all;
  all = weights;
  status = weights->upload(error);
  if (status == ONNXC_OK) return weights;
  release(weights);
  return nullptr;
}

// In a stream of its own, and nobody waits but the first kernels: the null stream would wait for the caller's work, and
// spoil a capture.
onnxc_status DeviceWeights::upload(ErrorText& error) {
  const auto bytes = static_cast<size_t>(block_.size);
  GpuResult result = gpu_.allocate(&data_, bytes);
  if (!succeeded(gpu_, result, "for the weights", error)) return status_of(result);
  result = gpu_.create_stream(&stream_, gpu_stream_non_blocking);
  if (!succeeded(gpu_, result, "", error)) return status_of(result);
  result = gpu_.create_event(&arrival_, gpu_event_without_time);
  if (!succeeded(gpu_, result, "", error)) return status_of(result);
  result = gpu_.copy(data_, block_.bytes, bytes, GpuCopy::to_device, stream_);
  if (!succeeded(gpu_, result, "of the weights", error)) return status_of(result);
  result = gpu_.record(arrival_, stream_);
  return succeeded(gpu_, result, "", error) ? ONNXC_OK : status_of(result);
}

void DeviceWeights::release(DeviceWeights* weights) {
  if (--weights->users_ > 0) return;
  DeviceWeights** link = &all;
  while (*link != weights) link = &(*link)->next_;
  *link = weights->next_;
  const GpuLibrary& gpu = weights->gpu_;
  if (weights->stream_ != nullptr) {
    ignore(gpu.wait_for_stream(weights->stream_));
    ignore(gpu.destroy_stream(weights->stream_));
  }
  if (weights->arrival_ != nullptr) ignore(gpu.destroy_event(weights->arrival_));
  if (weights->data_ != nullptr) ignore(gpu.free(weights->data_));
  weights->~DeviceWeights();
  free(weights);
}

}  // namespace onnxc::runtime
