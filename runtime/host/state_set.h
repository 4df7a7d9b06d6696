// The states of an instance, or of several that share them: memory that a run finds as the run before left it. It is
// zero at first, and again when a state gets other dims.
#pragma once

#include <atomic>

#include "base/array.h"
#include "base/error_text.h"
#include "base/model.h"
#include "host/state_memory.h"
#include "threads/fork_lock.h"

namespace onnxc::runtime {

class StateSet {
 public:
  // For the states of all entries, on an instance's GPU, or on the CPU if `device` is null. Null and a status if it
  // cannot be made.
  static StateSet* create(const DeviceBackend* backend, const DeviceInstance* device, onnxc_status& status,
                          ErrorText& error);
  StateSet* share();
  const StateMemory& memory() const { return memory_; }
  static void release(StateSet* set);

  // A call of an instance that uses the set. Only one at a time enters; without a set every call does.
  class Call {
   public:
    explicit Call(StateSet* set) : set_(set), entered_(set == nullptr || set->in_call_.try_lock()) {}
    ~Call() {
      if (entered_ && set_ != nullptr) set_->in_call_.unlock();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    bool entered() const { return entered_; }

   private:
    StateSet* set_;
    bool entered_;
  };

  // Whether a state has dims yet, and these.
  bool has_dims(int32_t place) const { return held_[place].is_known; }
  const int64_t* dims(int32_t place) const { return dims_.data() + held_[place].first_dim; }
  // Refuses a run that would give a state these dims, if the caller has set it to others, or if they are too many.
  onnxc_status check(int32_t place, const TensorDescription& info, const int64_t* dims, ErrorText& error) const;
  // Gives a state these dims, which were checked, for a run. If they are new, it is zero.
  onnxc_status take(int32_t place, const TensorDescription& info, const int64_t* dims, void*& data, ErrorText& error);
  onnxc_status set(int32_t place, const onnxc_value& value, int64_t bytes, ErrorText& error);
  onnxc_status get(int32_t place, void* data, ErrorText& error);
  onnxc_status reset(ErrorText& error);

 private:
  struct Held {
    int32_t rank, first_dim;
    bool is_known;
    bool is_given;  // by the caller, and no run has taken it yet
    int64_t bytes;
    void* data;
  };

  StateSet() = default;
  ~StateSet();
  onnxc_status set_up(ErrorText& error);
  bool has_these_dims(const Held& held, const int64_t* dims) const;
  onnxc_status make_room(Held& held, int64_t bytes, ErrorText& error);
  void keep_dims(Held& held, const int64_t* dims);

  std::atomic<int> users_ = 1;
  ForkLock in_call_;
  StateMemory memory_;
  Array<Held> held_;
  Array<int64_t> dims_;  // of all states, one after the other
};

}  // namespace onnxc::runtime
