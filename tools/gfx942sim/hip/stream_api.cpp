// HIP's calls about streams, events and graphs.
#include <chrono>

#include "gfx942sim/hip/api_call.h"

namespace gfx942sim::hip {
namespace {

double now_in_milliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

}  // namespace
}  // namespace gfx942sim::hip

using namespace gfx942sim;
using namespace gfx942sim::hip;

extern "C" {

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  return call("hipStreamCreate", [&](SimulatedDevice& device) {
    create(device.streams, stream);
    device.stream_of(*stream)->waits_for_null_stream = (flags & hipStreamNonBlocking) == 0;
  });
}

hipError_t hipStreamCreate(hipStream_t* stream) { return hipStreamCreateWithFlags(stream, hipStreamDefault); }

hipError_t hipStreamDestroy(hipStream_t stream) {
  return call("hipStreamDestroy", [&](SimulatedDevice& device) {
    Stream& found = known(device.streams, stream, "stream");
    device.refuse_while_capturing(&found);
    device.streams.erase(&found);
  });
}

hipError_t hipStreamSynchronize(hipStream_t stream) {
  return call("hipStreamSynchronize",
              [&](SimulatedDevice& device) { device.refuse_while_capturing(device.stream_of(stream)); });
}

hipError_t hipStreamQuery(hipStream_t stream) { return hipStreamSynchronize(stream); }

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int) {
  return call("hipStreamWaitEvent", [&](SimulatedDevice& device) {
    const Stream* captured_in = known(device.events, event, "event").captured_in;
    require(captured_in == nullptr || captured_in == device.stream_of(stream), hipErrorNotSupported,
            "the simulator captures one stream alone, and this would join another to it");
  });
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned) {
  return call("hipEventCreate", [&](SimulatedDevice& device) { create(device.events, event); });
}

hipError_t hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, hipEventDefault); }

hipError_t hipEventDestroy(hipEvent_t event) {
  return call("hipEventDestroy",
              [&](SimulatedDevice& device) { device.events.erase(&known(device.events, event, "event")); });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return call("hipEventRecord", [&](SimulatedDevice& device) {
    const Stream* recorded_in = device.stream_of(stream);
    known(device.events, event, "event").captured_in =
        recorded_in != nullptr && recorded_in->capture ? recorded_in : nullptr;
    return device.enqueue(stream, [=, &device] {
      Event& found = known(device.events, event, "event");
      found.recorded = true;
      found.milliseconds = now_in_milliseconds();
      return hipSuccess;
    });
  });
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  return call("hipEventSynchronize", [&](SimulatedDevice& device) {
    require(known(device.events, event, "event").captured_in == nullptr, hipErrorCapturedEvent,
            "the event was recorded by a capture");
  });
}

hipError_t hipEventQuery(hipEvent_t event) { return hipEventSynchronize(event); }

// The time that the simulator took, not the modelled one.
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return call("hipEventElapsedTime", [&](SimulatedDevice& device) {
    const Event &first = known(device.events, start, "event"), &second = known(device.events, stop, "event");
    require(first.recorded && second.recorded, hipErrorInvalidResourceHandle, "an event was never recorded");
    *milliseconds = static_cast<float>(second.milliseconds - first.milliseconds);
  });
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return call("hipStreamBeginCapture", [&](SimulatedDevice& device) {
    Stream* found = device.stream_of(stream);
    require(found != nullptr, hipErrorStreamCaptureUnsupported, "the null stream cannot capture");
    require(!found->capture, hipErrorIllegalState, "the stream captures already");
    found->capture = std::make_unique<Capture>();
    found->capture->mode = mode;
  });
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  *graph = nullptr;
  return call("hipStreamEndCapture",
              [&](SimulatedDevice& device) { *graph = reinterpret_cast<hipGraph_t>(device.end_capture(stream)); });
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return call("hipStreamIsCapturing", [&](SimulatedDevice& device) {
    const Stream* found = device.stream_of(stream);
    *status = found == nullptr || !found->capture ? hipStreamCaptureStatusNone
              : found->capture->is_invalid        ? hipStreamCaptureStatusInvalidated
                                                  : hipStreamCaptureStatusActive;
  });
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph, unsigned long long) {
  return call("hipGraphInstantiate", [&](SimulatedDevice& device) {
    const Graph& source = known(device.graphs, graph, "graph");
    create(device.executable_graphs, executable);
    known(device.executable_graphs, *executable, "executable graph").work = source.work;
  });
}

hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t*, char*, size_t) {
  return hipGraphInstantiateWithFlags(executable, graph, 0);
}

hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return call("hipGraphLaunch", [&](SimulatedDevice& device) {
    // A stream that captures takes them into its own graph.
    for (const Work& work : known(device.executable_graphs, executable, "executable graph").work)
      if (const hipError_t result = device.enqueue(stream, work); result != hipSuccess) return result;
    return hipSuccess;
  });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  return call("hipGraphDestroy",
              [&](SimulatedDevice& device) { device.graphs.erase(&known(device.graphs, graph, "graph")); });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return call("hipGraphExecDestroy", [&](SimulatedDevice& device) {
    device.executable_graphs.erase(&known(device.executable_graphs, executable, "executable graph"));
  });
}

}  // extern "C"
