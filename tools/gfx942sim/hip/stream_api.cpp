// HIP's calls about streams, events and graphs.
#include <algorithm>
#include <chrono>

#include "gfx942sim/hip/api_call.h"

namespace gfx942sim::hip {
namespace {

double now_in_milliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

// Who waits for an event of a capture spoils it.
void require_not_captured(const Event& event) {
  if (event.captured_in == nullptr) return;
  if (event.captured_in->capture) event.captured_in->capture->is_invalid = true;
  throw Refusal(hipErrorCapturedEvent, "the event was recorded by a capture");
}

}  // namespace
}  // namespace gfx942sim::hip

using namespace gfx942sim;
using namespace gfx942sim::hip;

extern "C" {

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  return call("hipStreamCreate", [&](SimulatedDevice& device) {
    create(device.streams, stream);
    Stream& created = *device.stream_of(*stream);
    created.device = current_device;
    created.waits_for_null_stream = (flags & hipStreamNonBlocking) == 0;
  });
}

hipError_t hipStreamCreate(hipStream_t* stream) { return hipStreamCreateWithFlags(stream, hipStreamDefault); }

hipError_t hipStreamDestroy(hipStream_t stream) {
  return call("hipStreamDestroy", [&](SimulatedDevice& device) {
    Stream& found = known(device.streams, stream, "stream");
    device.refuse_while_capturing(&found);
    // Its work happens all the same, and the null stream still waits for it.
    if (found.waits_for_null_stream) device.leave_to_null_stream(found);
    device.streams.erase(&found);
  });
}

hipError_t hipStreamSynchronize(hipStream_t stream) {
  return call("hipStreamSynchronize", [&](SimulatedDevice& device) {
    device.refuse_while_capturing(device.stream_of(stream));
    return device.finish(stream);
  });
}

// Who asks again finds the stream done.
hipError_t hipStreamQuery(hipStream_t stream) {
  return call("hipStreamQuery", [&](SimulatedDevice& device) {
    Stream& found = *device.stream_of(stream);
    device.refuse_while_capturing(&found);
    const bool is_done =
        std::ranges::none_of(found.before_next, [&](WorkNumber number) { return device.pending.is_pending(number); });
    const hipError_t result = is_done ? hipSuccess : device.finish(stream);
    return result == hipSuccess && !is_done ? hipErrorNotReady : result;
  });
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int) {
  return call("hipStreamWaitEvent", [&](SimulatedDevice& device) {
    Stream& waiting = *device.stream_of(stream);
    const Event& found = known(device.events, event, "event");
    require(found.captured_in == nullptr || found.captured_in == &waiting, hipErrorNotSupported,
            "the simulator captures only one stream, and this would join another to it");
    require(waiting.capture == nullptr || found.captured_in != nullptr, hipErrorStreamCaptureIsolation,
            "a stream that captures would wait for work outside of its graph");
    if (found.captured_in == nullptr && found.work != 0) waiting.before_next.push_back(found.work);
  });
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned) {
  return call("hipEventCreate", [&](SimulatedDevice& device) {
    create(device.events, event);
    known(device.events, *event, "event").device = current_device;
  });
}

hipError_t hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, hipEventDefault); }

hipError_t hipEventDestroy(hipEvent_t event) {
  return call("hipEventDestroy",
              [&](SimulatedDevice& device) { device.events.erase(&known(device.events, event, "event")); });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return call("hipEventRecord", [&](SimulatedDevice& device) {
    Stream& recorded_in = *device.stream_of(stream);
    Event& recorded = known(device.events, event, "event");
    require(recorded.device == recorded_in.device, hipErrorInvalidHandle,
            "the event and the stream are of different devices");
    recorded.captured_in = recorded_in.capture ? &recorded_in : nullptr;
    const hipError_t result = device.enqueue(stream, [=, &device] {
      const auto found = device.events.find(reinterpret_cast<Event*>(event));
      if (found != device.events.end()) found->second->milliseconds = now_in_milliseconds();
      return hipSuccess;
    });
    if (!recorded_in.capture) recorded.work = recorded_in.before_next.back();
    return result;
  });
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  return call("hipEventSynchronize", [&](SimulatedDevice& device) {
    const Event& found = known(device.events, event, "event");
    require_not_captured(found);
    return device.pending.finish(found.work);
  });
}

// Who asks again finds the event past.
hipError_t hipEventQuery(hipEvent_t event) {
  return call("hipEventQuery", [&](SimulatedDevice& device) {
    const Event& found = known(device.events, event, "event");
    require_not_captured(found);
    const bool is_past = !device.pending.is_pending(found.work);
    const hipError_t result = device.pending.finish(found.work);
    return result == hipSuccess && !is_past ? hipErrorNotReady : result;
  });
}

// The time that the simulator took, not the modelled one.
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return call("hipEventElapsedTime", [&](SimulatedDevice& device) {
    const Event &first = known(device.events, start, "event"), &second = known(device.events, stop, "event");
    require(first.work != 0 && second.work != 0, hipErrorInvalidResourceHandle, "an event was never recorded");
    if (device.pending.is_pending(first.work) || device.pending.is_pending(second.work)) return hipErrorNotReady;
    *milliseconds = static_cast<float>(second.milliseconds - first.milliseconds);
    return hipSuccess;
  });
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return call("hipStreamBeginCapture", [&](SimulatedDevice& device) {
    Stream* found = device.stream_of(stream);
    require(!found->is_null_stream, hipErrorStreamCaptureUnsupported, "the null stream cannot capture");
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
    *status = !found->capture              ? hipStreamCaptureStatusNone
              : found->capture->is_invalid ? hipStreamCaptureStatusInvalidated
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
    const ExecutableGraph& graph = known(device.executable_graphs, executable, "executable graph");
    // HIP launches it at once, and not into the capture; CUDA takes it in.
    device.refuse_while_capturing(device.stream_of(stream));
    for (const Work& work : graph.work)
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
