// Streams, events, captures and graphs of simulated GPUs, for HIP's interface and for CUDA's. Work of a stream is
// held back until somebody waits for it (pending_work.h); while a stream captures, its operations are noted in a graph
// instead, and what is not allowed then is refused and spoils the capture.
//
// Handles are addresses of the objects below. A stream's null handle is the null stream of a device; `device` is the
// thread's current one.
#pragma once

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "gpu_streams/pending_work.h"
#include "gpu_streams/refusal.h"

namespace gpu_streams {

struct Graph {
  std::vector<Work> work;
};
struct ExecutableGraph {
  std::vector<Work> work;
};
enum class CaptureMode : int { global, thread_local_, relaxed };  // as both libraries number them
enum class CaptureStatus : int { none, active, invalidated };
// How this thread's own calls meet captures: CUDA's cuThreadExchangeStreamCaptureMode.
inline thread_local CaptureMode threads_capture_mode = CaptureMode::global;
struct Capture {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  CaptureMode mode;
  std::thread::id thread = std::this_thread::get_id();
  bool is_invalid = false;
};
struct Stream {
  int device = 0;
  bool is_null_stream = false;
  bool waits_for_null_stream = true;
  std::vector<WorkNumber> before_next;  // of this stream, of events that it waits for, of streams that are gone
  std::unique_ptr<Capture> capture;     // null while the stream runs what it gets
};
struct Event {
  int device = 0;
  WorkNumber work = 0;                  // that records it; 0: it was never recorded
  const Stream* captured_in = nullptr;  // recorded in a graph, so it says nothing of the device
  double milliseconds = 0;              // when it was recorded
};

template <class Object>
class Handles {
 public:
  Object* create() {
    auto object = std::make_unique<Object>();
    Object* handle = object.get();
    objects_[handle] = std::move(object);
    return handle;
  }
  Object* adopt(std::unique_ptr<Object> object) {
    Object* handle = object.get();
    objects_[handle] = std::move(object);
    return handle;
  }
  // The object of a handle; throws Refusal.
  Object& known(const void* handle, const char* what) const {
    const auto found = objects_.find(static_cast<Object*>(const_cast<void*>(handle)));
    if (found == objects_.end()) throw Refusal(invalid_handle, std::string("the ") + what + " does not exist");
    return *found->second;
  }
  bool has(const Object* object) const { return objects_.contains(const_cast<Object*>(object)); }
  void destroy(Object& object) { objects_.erase(&object); }
  template <class Condition>
  void destroy_if(Condition condition) {
    std::erase_if(objects_, [&](const auto& entry) { return condition(*entry.second); });
  }
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }
  size_t size() const { return objects_.size(); }

 private:
  std::map<Object*, std::unique_ptr<Object>> objects_;
};

class Streams {
 public:
  // HIP launches a graph at once, and not into a capture; CUDA takes it in.
  Streams(const char* variable, bool captures_take_graphs)
      : pending(variable), captures_take_graphs_(captures_take_graphs) {}

  Stream& stream(const void* handle, int device);
  Stream* create_stream(int device, bool waits_for_null_stream);
  void destroy_stream(const void* handle);
  int synchronize(const void* handle, int device);
  int query(const void* handle, int device);
  void wait_for_event(const void* handle, int device, const void* event);

  Event* create_event(int device);
  void destroy_event(const void* event);
  int record(const void* event, const void* handle, int device);
  int synchronize_event(const void* event);
  int query_event(const void* event);
  int elapsed(float* milliseconds, const void* start, const void* stop) const;

  void begin_capture(const void* handle, int device, CaptureMode mode);
  Graph* end_capture(const void* handle, int device);
  CaptureStatus capture_status(const void* handle, int device);

  ExecutableGraph* instantiate(const void* graph);
  int launch(const void* executable, const void* handle, int device);
  void destroy_graph(const void* graph);
  void destroy_executable(const void* executable);

  // Does the work when the stream comes to it, or notes it if the stream captures. Work that the stream's device cannot
  // do must have been refused before.
  int enqueue(const void* handle, int device, Work work);
  // Returns when the stream, or the device, has done all that it was given.
  int finish(const void* handle, int device);
  int finish_device(int device) { return pending.finish_device(device); }
  // The device is gone, with its work, its streams and its events.
  void forget_device(int device);

  // For calls that are not of a stream: refused while this thread captures one, or any thread one for all threads; but
  // not in a thread that says it knows what it does.
  void refuse_while_capturing();
  // For calls that wait for the device, or for a copy: refused during any capture of any thread.
  void refuse_while_anything_captures(int code);
  // For calls that wait for a stream.
  void refuse_while_capturing(Stream& stream);

  // The number of objects that were created and not destroyed.
  size_t count() const { return streams_.size() + events_.size() + graphs_.size() + executables_.size(); }

  PendingWork pending;

 private:
  // The work that must have happened before new work of a stream does.
  std::vector<WorkNumber> before_work_of(const Stream& stream) const;

  bool captures_take_graphs_;
  Handles<Stream> streams_;
  Handles<Event> events_;
  Handles<Graph> graphs_;
  Handles<ExecutableGraph> executables_;
  std::map<int, Stream> null_streams_;
};

}  // namespace gpu_streams
