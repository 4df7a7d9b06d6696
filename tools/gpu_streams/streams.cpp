#include "gpu_streams/streams.h"

#include <algorithm>
#include <chrono>

namespace gpu_streams {
namespace {

double now_in_milliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

// Who waits for an event of a capture spoils it.
void require_not_captured(const Event& event) {
  if (event.captured_in == nullptr) return;
  if (event.captured_in->capture) event.captured_in->capture->is_invalid = true;
  throw Refusal(captured_event, "the event was recorded by a capture");
}

}  // namespace

Stream& Streams::stream(const void* handle, int device) {
  if (handle != nullptr) return streams_.known(handle, "stream");
  Stream& found = null_streams_[device];
  found.device = device;
  found.is_null_stream = true;
  return found;
}

Stream* Streams::create_stream(int device, bool waits_for_null_stream) {
  Stream* created = streams_.create();
  created->device = device;
  created->waits_for_null_stream = waits_for_null_stream;
  return created;
}

void Streams::destroy_stream(const void* handle) {
  Stream& found = streams_.known(handle, "stream");
  refuse_while_capturing(found);
  // Its work happens all the same, and the null stream still waits for it.
  if (found.waits_for_null_stream) {
    Stream& heir = stream(nullptr, found.device);
    heir.before_next.insert(heir.before_next.end(), found.before_next.begin(), found.before_next.end());
  }
  streams_.destroy(found);
}

int Streams::synchronize(const void* handle, int device) {
  refuse_while_capturing(stream(handle, device));
  return finish(handle, device);
}

// Who asks again finds the stream done.
int Streams::query(const void* handle, int device) {
  Stream& found = stream(handle, device);
  refuse_while_capturing(found);
  const bool is_done =
      std::ranges::none_of(found.before_next, [&](WorkNumber number) { return pending.is_pending(number); });
  const int result = is_done ? success : finish(handle, device);
  return result == success && !is_done ? not_ready : result;
}

void Streams::wait_for_event(const void* handle, int device, const void* event) {
  Stream& waiting = stream(handle, device);
  const Event& found = events_.known(event, "event");
  require(found.captured_in == nullptr || found.captured_in == &waiting, not_supported,
          "the simulator captures only one stream, and this would join another to it");
  require(waiting.capture == nullptr || found.captured_in != nullptr, capture_isolation,
          "a stream that captures would wait for work outside of its graph");
  if (found.captured_in == nullptr && found.work != 0) waiting.before_next.push_back(found.work);
}

Event* Streams::create_event(int device) {
  Event* created = events_.create();
  created->device = device;
  return created;
}

void Streams::destroy_event(const void* event) { events_.destroy(events_.known(event, "event")); }

int Streams::record(const void* event, const void* handle, int device) {
  Stream& recorded_in = stream(handle, device);
  Event& recorded = events_.known(event, "event");
  require(recorded.device == recorded_in.device, invalid_handle, "the event and the stream are of different devices");
  recorded.captured_in = recorded_in.capture ? &recorded_in : nullptr;
  const int result = enqueue(handle, device, [this, object = &recorded] {
    if (events_.has(object)) object->milliseconds = now_in_milliseconds();
    return success;
  });
  if (!recorded_in.capture) recorded.work = recorded_in.before_next.back();
  return result;
}

int Streams::synchronize_event(const void* event) {
  const Event& found = events_.known(event, "event");
  require_not_captured(found);
  return pending.finish(found.work);
}

// Who asks again finds the event past.
int Streams::query_event(const void* event) {
  const Event& found = events_.known(event, "event");
  require_not_captured(found);
  const bool is_past = !pending.is_pending(found.work);
  const int result = pending.finish(found.work);
  return result == success && !is_past ? not_ready : result;
}

// The time that the simulator took, not the modelled one.
int Streams::elapsed(float* milliseconds, const void* start, const void* stop) const {
  const Event &first = events_.known(start, "event"), &second = events_.known(stop, "event");
  require(first.work != 0 && second.work != 0, invalid_handle, "an event was never recorded");
  if (pending.is_pending(first.work) || pending.is_pending(second.work)) return not_ready;
  *milliseconds = static_cast<float>(second.milliseconds - first.milliseconds);
  return success;
}

void Streams::begin_capture(const void* handle, int device, CaptureMode mode) {
  Stream& found = stream(handle, device);
  require(!found.is_null_stream, capture_unsupported, "the null stream cannot capture");
  require(!found.capture, illegal_state, "the stream captures already");
  found.capture = std::make_unique<Capture>();
  found.capture->mode = mode;
}

Graph* Streams::end_capture(const void* handle, int device) {
  Stream& found = stream(handle, device);
  if (!found.capture) throw Refusal(capture_unmatched, "the stream does not capture");
  if (found.capture->mode != CaptureMode::relaxed && found.capture->thread != std::this_thread::get_id())
    throw Refusal(capture_wrong_thread, "another thread began this capture");
  const std::unique_ptr<Capture> capture = std::move(found.capture);
  for (const auto& [event, owner] : events_)
    if (event->captured_in == &found) event->captured_in = nullptr;
  if (capture->is_invalid)
    throw Refusal(capture_invalidated, "the capture was spoilt by a call that no capture allows");
  return graphs_.adopt(std::move(capture->graph));
}

CaptureStatus Streams::capture_status(const void* handle, int device) {
  const Stream& found = stream(handle, device);
  return !found.capture              ? CaptureStatus::none
         : found.capture->is_invalid ? CaptureStatus::invalidated
                                     : CaptureStatus::active;
}

ExecutableGraph* Streams::instantiate(const void* graph) {
  const Graph& source = graphs_.known(graph, "graph");
  ExecutableGraph* created = executables_.create();
  created->work = source.work;
  return created;
}

int Streams::launch(const void* executable, const void* handle, int device) {
  const ExecutableGraph& graph = executables_.known(executable, "executable graph");
  if (!captures_take_graphs_) refuse_while_capturing(stream(handle, device));
  for (const Work& work : graph.work)
    if (const int result = enqueue(handle, device, work); result != success) return result;
  return success;
}

void Streams::destroy_graph(const void* graph) { graphs_.destroy(graphs_.known(graph, "graph")); }

void Streams::destroy_executable(const void* executable) {
  executables_.destroy(executables_.known(executable, "executable graph"));
}

void Streams::refuse_while_capturing() {
  if (threads_capture_mode == CaptureMode::relaxed) return;
  for (const auto& [stream, owner] : streams_) {
    Capture* capture = stream->capture.get();
    if (capture == nullptr || capture->mode == CaptureMode::relaxed) continue;
    const bool is_of_others =
        capture->mode == CaptureMode::thread_local_ || threads_capture_mode == CaptureMode::thread_local_;
    if (is_of_others && capture->thread != std::this_thread::get_id()) continue;
    capture->is_invalid = true;
    throw Refusal(capture_unsupported, "not while a stream captures");
  }
}

void Streams::refuse_while_anything_captures(int code) {
  bool captures = false;
  for (const auto& [stream, owner] : streams_) {
    if (!stream->capture) continue;
    captures = stream->capture->is_invalid = true;
  }
  if (captures) throw Refusal(code, "not while any stream captures, in whatever mode");
}

void Streams::refuse_while_capturing(Stream& stream) {
  if (!stream.capture) return;
  stream.capture->is_invalid = true;
  throw Refusal(capture_unsupported, "not for a stream that captures");
}

// The null stream and the streams that were not made apart from it wait for each other.
std::vector<WorkNumber> Streams::before_work_of(const Stream& stream) const {
  std::vector<WorkNumber> before = stream.before_next;
  auto add = [&](const Stream& other) {
    before.insert(before.end(), other.before_next.begin(), other.before_next.end());
  };
  if (stream.is_null_stream) {
    for (const auto& [other, owner] : streams_)
      if (other->waits_for_null_stream && other->device == stream.device) add(*other);
  } else if (stream.waits_for_null_stream) {
    const auto found = null_streams_.find(stream.device);
    if (found != null_streams_.end()) add(found->second);
  }
  return before;
}

int Streams::enqueue(const void* handle, int device, Work work) {
  Stream& found = stream(handle, device);
  for (const auto& [other, owner] : streams_) {
    if (!found.is_null_stream || other->device != found.device) continue;
    if (!other->capture || !other->waits_for_null_stream) continue;
    other->capture->is_invalid = true;
    throw Refusal(capture_implicit, "the null stream would wait for a stream that captures");
  }
  if (!found.capture) {
    found.before_next = {pending.add(found.device, &found, before_work_of(found), std::move(work))};
    return success;
  }
  if (found.capture->is_invalid)
    throw Refusal(capture_invalidated, "the capture was spoilt by a call that no capture allows");
  found.capture->graph->work.push_back(std::move(work));
  return success;
}

void Streams::forget_device(int device) {
  pending.drop(device);
  streams_.destroy_if([&](const Stream& stream) { return stream.device == device; });
  events_.destroy_if([&](const Event& event) { return event.device == device; });
  null_streams_.erase(device);
}

int Streams::finish(const void* handle, int device) {
  const int result = enqueue(handle, device, [] { return success; });
  return result == success ? pending.finish(stream(handle, device).before_next.back()) : result;
}

}  // namespace gpu_streams
