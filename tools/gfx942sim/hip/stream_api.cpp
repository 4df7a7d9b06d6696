// HIP's calls about streams, events and graphs.
#include <utility>

#include "gfx942sim/hip/api_call.h"

using namespace gfx942sim;
using namespace gfx942sim::hip;

extern "C" {

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  return call("hipStreamCreate", [&](SimulatedDevice& device) {
    *stream = reinterpret_cast<hipStream_t>(
        device.streams.create_stream(current_device, (flags & hipStreamNonBlocking) == 0));
  });
}

hipError_t hipStreamCreate(hipStream_t* stream) { return hipStreamCreateWithFlags(stream, hipStreamDefault); }

hipError_t hipStreamDestroy(hipStream_t stream) {
  return call("hipStreamDestroy", [&](SimulatedDevice& device) { device.streams.destroy_stream(stream); });
}

hipError_t hipStreamSynchronize(hipStream_t stream) {
  return call("hipStreamSynchronize",
              [&](SimulatedDevice& device) { return device.streams.synchronize(stream, current_device); });
}

hipError_t hipStreamQuery(hipStream_t stream) {
  return call("hipStreamQuery", [&](SimulatedDevice& device) { return device.streams.query(stream, current_device); });
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int) {
  return call("hipStreamWaitEvent",
              [&](SimulatedDevice& device) { device.streams.wait_for_event(stream, current_device, event); });
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return call("hipThreadExchangeStreamCaptureMode", [&](SimulatedDevice&) {
    *mode = static_cast<hipStreamCaptureMode>(
        std::exchange(gpu_streams::threads_capture_mode, static_cast<gpu_streams::CaptureMode>(*mode)));
  });
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned) {
  return call("hipEventCreate", [&](SimulatedDevice& device) {
    *event = reinterpret_cast<hipEvent_t>(device.streams.create_event(current_device));
  });
}

hipError_t hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, hipEventDefault); }

hipError_t hipEventDestroy(hipEvent_t event) {
  return call("hipEventDestroy", [&](SimulatedDevice& device) { device.streams.destroy_event(event); });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return call("hipEventRecord",
              [&](SimulatedDevice& device) { return device.streams.record(event, stream, current_device); });
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  return call("hipEventSynchronize", [&](SimulatedDevice& device) { return device.streams.synchronize_event(event); });
}

hipError_t hipEventQuery(hipEvent_t event) {
  return call("hipEventQuery", [&](SimulatedDevice& device) { return device.streams.query_event(event); });
}

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return call("hipEventElapsedTime",
              [&](SimulatedDevice& device) { return device.streams.elapsed(milliseconds, start, stop); });
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return call("hipStreamBeginCapture", [&](SimulatedDevice& device) {
    device.streams.begin_capture(stream, current_device, static_cast<gpu_streams::CaptureMode>(mode));
  });
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  *graph = nullptr;
  return call("hipStreamEndCapture", [&](SimulatedDevice& device) {
    *graph = reinterpret_cast<hipGraph_t>(device.streams.end_capture(stream, current_device));
  });
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return call("hipStreamIsCapturing", [&](SimulatedDevice& device) {
    *status = static_cast<hipStreamCaptureStatus>(device.streams.capture_status(stream, current_device));
  });
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph, unsigned long long) {
  return call("hipGraphInstantiate", [&](SimulatedDevice& device) {
    *executable = reinterpret_cast<hipGraphExec_t>(device.streams.instantiate(graph));
  });
}

hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t*, char*, size_t) {
  return hipGraphInstantiateWithFlags(executable, graph, 0);
}

hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return call("hipGraphLaunch",
              [&](SimulatedDevice& device) { return device.streams.launch(executable, stream, current_device); });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  return call("hipGraphDestroy", [&](SimulatedDevice& device) { device.streams.destroy_graph(graph); });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return call("hipGraphExecDestroy", [&](SimulatedDevice& device) { device.streams.destroy_executable(executable); });
}

}  // extern "C"
