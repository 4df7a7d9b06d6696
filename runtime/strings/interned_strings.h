// The strings of a run, each once: interning.
//
// Problem: elements of tensors are of a fixed size, strings are not; and nests copy, compare and select elements.
//
// Method: a tensor of strings holds handles, int64. Equal strings have equal handles, so that a nest over handles is
// one over integers. The first handles are those of the model's constants, which its compiler gave; what a caller's
// inputs hold, and what steps make, follows in the order in which it comes. begin_run() forgets these.
//
// The table is a hash table with open addressing. Its hash has a key of its own (SipHash-1-3, Aumasson and Bernstein,
// 2012): who chooses the inputs cannot choose strings that meet in it. Memory is kept from run to run.
//
// Limits: one thread at a time adds strings; any number may read texts only while none adds. At most 2^30 different
// strings a run.
#pragma once

#include <atomic>

#include "base/array.h"
#include "base/model.h"

namespace onnxc::runtime {

struct Text {
  const char* data;
  int64_t size;
};

class InternedStrings {
 public:
  InternedStrings() = default;
  InternedStrings(const InternedStrings&) = delete;
  InternedStrings& operator=(const InternedStrings&) = delete;
  ~InternedStrings();

  // With the strings of the model, if it has tensors of strings; false when memory is short.
  [[nodiscard]] bool set_up(const ModelDescription& model);
  // Forgets all but those.
  void begin_run();

  // The handle of a string whose bytes stay where they are until the next run; -1 when memory is short.
  int64_t intern(Text text);
  // Memory for a string that is about to be made, or null; `intern_made` then gives its handle.
  char* room(int64_t size);
  int64_t intern_made(Text text);

  // Ends the run after this step, for the first reason that is given. Any thread may call it.
  void fail(onnxc_status status, const char* text) {
    onnxc_status none = ONNXC_OK;
    if (failure_.compare_exchange_strong(none, status)) failure_text_.store(text);
  }
  onnxc_status failure() const { return failure_.load(); }
  const char* failure_text() const { return failure_text_.load(); }

  // The place of the part of a text that was asked for last (part, in string_functions.h).
  struct LastPart {
    int64_t text = -1, delimiter = -1, most = 0, number = 0, begin = 0;
  };
  LastPart last_part;

  // Null data and size -1 for a number that is not a handle, such as an element that no step has written.
  Text text(int64_t handle) const {
    if (handle < 0 || handle >= count_) return {nullptr, -1};
    return texts_[handle].text;
  }

 private:
  struct Entry {
    Text text;
    uint64_t hash;
    int64_t slot;
  };
  // Bytes of strings that were made, in blocks that are used one after the other.
  struct Block {
    Block* next;
    int64_t capacity;
  };

  uint64_t hash(Text text) const;
  int64_t find_slot(Text text, uint64_t hash) const;
  bool grow();
  void fill_slots();

  std::atomic<onnxc_status> failure_ = ONNXC_OK;
  std::atomic<const char*> failure_text_ = nullptr;

  int64_t models_count_ = 0;  // of the model's own
  uint64_t key_[2] = {};
  Array<Entry> texts_;    // by handle; the first count_ are in use
  Array<int32_t> slots_;  // a power of two: 1 + the handle, or 0
  int64_t count_ = 0;

  Block* blocks_ = nullptr;
  Block* current_ = nullptr;
  int64_t used_ = 0;  // of the current block
};

}  // namespace onnxc::runtime
