#include "strings/interned_strings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace onnxc::runtime {
namespace {

constexpr int64_t most_strings = int64_t{1} << 30;
constexpr int64_t block_bytes = int64_t{1} << 16;

uint64_t rotated(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

struct SipState {
  uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v1 = rotated(v1, 13) ^ v0;
    v0 = rotated(v0, 32);
    v2 += v3;
    v3 = rotated(v3, 16) ^ v2;
    v0 += v3;
    v3 = rotated(v3, 21) ^ v0;
    v2 += v1;
    v1 = rotated(v1, 17) ^ v2;
    v2 = rotated(v2, 32);
  }

  void take(uint64_t word) {
    v3 ^= word;
    round();
    v0 ^= word;
  }
};

bool equal(Text a, Text b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, static_cast<size_t>(a.size)) == 0);
}

char* bytes_of(void* block, size_t header) { return static_cast<char*>(block) + header; }

}  // namespace

InternedStrings::~InternedStrings() {
  while (blocks_ != nullptr) {
    Block* const next = blocks_->next;
    free(blocks_);
    blocks_ = next;
  }
}

bool InternedStrings::set_up(const ModelDescription& model) {
  models_count_ = model.string_count;
  if (models_count_ == 0) return true;
  // If the kernel has no random bytes to give, addresses are the next best that a caller does not choose.
  if (syscall(SYS_getrandom, key_, sizeof key_, 0) != static_cast<long>(sizeof key_)) {
    key_[0] = reinterpret_cast<uintptr_t>(this);
    key_[1] = reinterpret_cast<uintptr_t>(&key_);
  }
  const auto* ends = reinterpret_cast<const int64_t*>(shared_object.weights + model.string_ends);
  const auto* bytes = reinterpret_cast<const char*>(shared_object.weights + model.string_bytes);
  int64_t begin = 0;
  for (int64_t i = 0; i < models_count_; ++i) {
    if (intern({bytes + begin, ends[i] - begin}) != i) return false;
    begin = ends[i];
  }
  return true;
}

void InternedStrings::begin_run() {
  // Those of the model are in the slots that they would have without the others, as they came first.
  while (count_ > models_count_) slots_[texts_[--count_].slot] = 0;
  current_ = blocks_;
  used_ = 0;
  last_part = {};
  failure_ = ONNXC_OK;
}

uint64_t InternedStrings::hash(Text text) const {
  SipState state{key_[0] ^ 0x736f6d6570736575, key_[1] ^ 0x646f72616e646f6d, key_[0] ^ 0x6c7967656e657261,
                 key_[1] ^ 0x7465646279746573};
  const char* at = text.data;
  int64_t left = text.size;
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    state.take(word);
  }
  uint64_t last = static_cast<uint64_t>(text.size) << 56;
  for (int64_t i = 0; i < left; ++i) last |= static_cast<uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  state.take(last);
  state.v2 ^= 0xff;
  for (int i = 0; i < 3; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

// The slot that has the text, or that it would take.
int64_t InternedStrings::find_slot(Text text, uint64_t hash) const {
  const int64_t mask = slots_.size() - 1;
  int64_t slot = static_cast<int64_t>(hash & static_cast<uint64_t>(mask));
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Entry& entry = texts_[slots_[slot] - 1];
    if (entry.hash == hash && equal(entry.text, text)) break;
  }
  return slot;
}

void InternedStrings::fill_slots() {
  for (int64_t i = 0; i < count_; ++i) {
    Entry& entry = texts_[i];
    entry.slot = find_slot(entry.text, entry.hash);
    slots_[entry.slot] = static_cast<int32_t>(i + 1);
  }
}

// Room for one more: twice the entries, and two to four slots for each.
bool InternedStrings::grow() {
  const int64_t capacity = std::max<int64_t>(texts_.size() * 2, std::max<int64_t>(models_count_, 64));
  if (capacity > most_strings) return false;
  int64_t slot_count = 1;
  while (slot_count < 2 * capacity) slot_count *= 2;
  Array<Entry> texts;
  Array<int32_t> slots;
  if (!texts.allocate(capacity) || !slots.allocate(slot_count)) return false;
  std::copy(texts_.begin(), texts_.begin() + count_, texts.begin());
  texts_.swap(texts);
  slots_.swap(slots);
  fill_slots();
  return true;
}

int64_t InternedStrings::intern(Text text) {
  if (count_ == texts_.size() && !grow()) return -1;
  const uint64_t hash_of_text = hash(text);
  const int64_t slot = find_slot(text, hash_of_text);
  if (slots_[slot] != 0) return slots_[slot] - 1;
  texts_[count_] = {text, hash_of_text, slot};
  slots_[slot] = static_cast<int32_t>(++count_);
  return count_ - 1;
}

char* InternedStrings::room(int64_t size) {
  while (current_ != nullptr && current_->capacity - used_ < size) {
    if (current_->next == nullptr) break;
    current_ = current_->next;
    used_ = 0;
  }
  if (current_ == nullptr || current_->capacity - used_ < size) {
    int64_t bytes;
    const int64_t capacity = std::max(size, block_bytes);
    if (__builtin_add_overflow(capacity, int64_t{sizeof(Block)}, &bytes)) return nullptr;
    void* const memory = malloc(static_cast<size_t>(bytes));
    if (memory == nullptr) return nullptr;
    Block* const block = new (memory) Block{nullptr, capacity};
    (current_ == nullptr ? blocks_ : current_->next) = block;
    current_ = block;
    used_ = 0;
  }
  return bytes_of(current_, sizeof(Block)) + used_;
}

int64_t InternedStrings::intern_made(Text text) {
  const int64_t before = count_;
  const int64_t handle = intern(text);
  if (count_ > before) used_ += text.size;  // else the next one is made in its place
  return handle;
}

}  // namespace onnxc::runtime
