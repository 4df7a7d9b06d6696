// The driver's calls about streams, events and graphs.
#include <utility>

#include "cuda_stand_in/api_call.h"

using namespace cuda_stand_in;

extern "C" {

int cuStreamCreate(void** stream, unsigned flags) {
  return call("cuStreamCreate", [&](StandIn& stand_in) {
    *stream = stand_in.streams.create_stream(stand_in.current().number, (flags & 1) == 0);
  });
}

int cuStreamDestroy_v2(void* stream) {
  return call_to_give_back("cuStreamDestroy_v2", [&](StandIn& stand_in) { stand_in.streams.destroy_stream(stream); });
}

int cuStreamSynchronize(void* stream) {
  return call("cuStreamSynchronize",
              [&](StandIn& stand_in) { return stand_in.streams.synchronize(stream, stand_in.context_of(stream)); });
}

int cuStreamQuery(void* stream) {
  return call("cuStreamQuery",
              [&](StandIn& stand_in) { return stand_in.streams.query(stream, stand_in.context_of(stream)); });
}

int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  return call("cuStreamWaitEvent",
              [&](StandIn& stand_in) { stand_in.streams.wait_for_event(stream, stand_in.context_of(stream), event); });
}

int cuStreamGetCtx(void* stream, void** context) {
  return call("cuStreamGetCtx", [&](StandIn& stand_in) { *context = stand_in.context_of_any(stream); });
}

int cuStreamIsCapturing(void* stream, int* status) {
  return call("cuStreamIsCapturing", [&](StandIn& stand_in) {
    *status = static_cast<int>(stand_in.streams.capture_status(stream, stand_in.current().number));
  });
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  return call("cuThreadExchangeStreamCaptureMode", [&](StandIn&) {
    gpu_streams::require(*mode >= 0 && *mode <= 2, gpu_streams::invalid_value, "there is no such mode");
    *mode = static_cast<int>(
        std::exchange(gpu_streams::threads_capture_mode, static_cast<gpu_streams::CaptureMode>(*mode)));
  });
}

int cuEventCreate(void** event, unsigned) {
  return call("cuEventCreate",
              [&](StandIn& stand_in) { *event = stand_in.streams.create_event(stand_in.current().number); });
}

int cuEventDestroy_v2(void* event) {
  return call_to_give_back("cuEventDestroy_v2", [&](StandIn& stand_in) { stand_in.streams.destroy_event(event); });
}

int cuEventRecord(void* event, void* stream) {
  return call("cuEventRecord",
              [&](StandIn& stand_in) { return stand_in.streams.record(event, stream, stand_in.context_of(stream)); });
}

int cuEventSynchronize(void* event) {
  return call("cuEventSynchronize", [&](StandIn& stand_in) {
    stand_in.current();
    stand_in.streams.refuse_while_capturing();
    return stand_in.streams.synchronize_event(event);
  });
}

int cuStreamBeginCapture_v2(void* stream, int mode) {
  return call("cuStreamBeginCapture_v2", [&](StandIn& stand_in) {
    stand_in.streams.begin_capture(stream, stand_in.context_of(stream), static_cast<gpu_streams::CaptureMode>(mode));
  });
}

int cuGraphDestroy(void* graph) {
  return call_to_give_back("cuGraphDestroy", [&](StandIn& stand_in) { stand_in.streams.destroy_graph(graph); });
}

// The capture ends whether the call fails or not.
int cuStreamEndCapture(void* stream, void** graph) {
  *graph = nullptr;
  void* captured = nullptr;
  const int ended = call_to_give_back("cuStreamEndCapture", [&](StandIn& stand_in) {
    captured = stand_in.streams.end_capture(stream, stand_in.context_of(stream));
  });
  if (ended != 0) return ended;
  const int told = call("cuStreamEndCapture", [&](StandIn&) { *graph = captured; });
  if (told != 0) cuGraphDestroy(captured);
  return told;
}

int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  return call("cuGraphInstantiateWithFlags",
              [&](StandIn& stand_in) { *executable = stand_in.streams.instantiate(graph); });
}

int cuGraphLaunch(void* executable, void* stream) {
  return call("cuGraphLaunch", [&](StandIn& stand_in) {
    return stand_in.streams.launch(executable, stream, stand_in.context_of(stream));
  });
}

int cuGraphExecDestroy(void* executable) {
  return call_to_give_back("cuGraphExecDestroy",
                           [&](StandIn& stand_in) { stand_in.streams.destroy_executable(executable); });
}

}  // extern "C"
