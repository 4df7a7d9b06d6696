#include "block.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "fibre.h"

namespace onnxc::host_blocks {
namespace {

constexpr const char* at_barrier = "a barrier of the block";

struct Thread {
  Fibre fibre;
  uint32_t index = 0;
  const char* waits_at = nullptr;  // the word of the meeting that it waits for; null if it may run
  uint32_t exchanges = 0;
  AsyncCopies copies;
  WarpgroupProducts products;
};

struct Warp {
  // A lane that is ahead by one exchange must not overwrite what another still reads.
  Exchanged exchanged[2];
};

// The order in which the threads run after each meeting (ONNXC_HOST_ORDER).
class Order {
 public:
  Order() {
    const char* const name = std::getenv("ONNXC_HOST_ORDER");
    if (name == nullptr || std::strcmp(name, "forward") == 0) return;
    is_backward_ = std::strcmp(name, "backward") == 0;
    if (is_backward_) return;
    char* end = nullptr;
    random_.seed(static_cast<uint32_t>(std::strtoul(name, &end, 10)));
    is_shuffled_ = end != name && *end == '\0';
    if (!is_shuffled_) fail("ONNXC_HOST_ORDER is '%s'; forward, backward or a number is expected", name);
  }

  const std::vector<uint32_t>& next(uint32_t threads) {
    if (numbers_.size() != threads) {
      numbers_.resize(threads);
      std::iota(numbers_.begin(), numbers_.end(), 0u);
      if (is_backward_) std::ranges::reverse(numbers_);
    }
    if (is_shuffled_) std::ranges::shuffle(numbers_, random_);
    return numbers_;
  }

 private:
  bool is_backward_ = false, is_shuffled_ = false;
  std::mt19937 random_;
  std::vector<uint32_t> numbers_;
};

class Block {
 public:
  void run(uint32_t index, uint32_t threads, Body body);

  uint32_t index() const { return index_; }
  Thread& running() { return *running_; }
  void wait_at(const char* word) {
    running_->waits_at = word;
    running_->fibre.give_way();
  }
  Warp& warp() { return warps_[running_->index / warp_lanes]; }
  bool all_copies_are_ordered() const {
    return std::ranges::all_of(threads_, [](const auto& thread) { return thread->copies.are_ordered(); });
  }

 private:
  void begin(uint32_t threads, Body body);
  void run_ready();
  bool release_warp(size_t first);
  bool release_block();
  void report_stuck() const;

  uint32_t index_ = 0;
  Thread* running_ = nullptr;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Warp> warps_;
  Order order_;
};

Block& block() {
  static Block one;
  return one;
}

void Block::begin(uint32_t threads, Body body) {
  if (threads == 0 || threads % warp_lanes != 0)
    fail("a block has whole warps, and %u threads were asked for", threads);
  while (threads_.size() < threads) threads_.push_back(std::make_unique<Thread>());
  threads_.resize(threads);
  warps_.resize(threads / warp_lanes);
  for (uint32_t i = 0; i < threads; ++i) {
    Thread& thread = *threads_[i];
    thread.index = i;
    thread.waits_at = nullptr;
    thread.exchanges = 0;
    thread.copies.clear();
    thread.products.clear();
    thread.fibre.start(body.run, body.context);
  }
}

// Each thread that may run, until it waits or ends.
void Block::run_ready() {
  for (const uint32_t number : order_.next(static_cast<uint32_t>(threads_.size()))) {
    running_ = threads_[number].get();
    if (!running_->fibre.has_ended() && running_->waits_at == nullptr) running_->fibre.resume();
  }
}

bool Block::release_warp(size_t first) {
  const auto lanes = [&](auto&& condition) {
    return std::all_of(threads_.begin() + static_cast<ptrdiff_t>(first),
                       threads_.begin() + static_cast<ptrdiff_t>(first) + warp_lanes, condition);
  };
  const char* const word = threads_[first]->waits_at;
  if (word == nullptr || word == at_barrier) return false;
  if (!lanes([&](const auto& thread) { return thread->waits_at == word; })) return false;
  for (int lane = 0; lane < warp_lanes; ++lane) threads_[first + lane]->waits_at = nullptr;
  return true;
}

bool Block::release_block() {
  if (!std::ranges::all_of(threads_, [](const auto& thread) { return thread->waits_at == at_barrier; })) return false;
  for (const auto& thread : threads_) thread->waits_at = nullptr;
  return true;
}

void Block::report_stuck() const {
  for (const auto& thread : threads_)
    std::fprintf(stderr, "  thread %u: %s\n", thread->index,
                 thread->fibre.has_ended() ? "has ended" : thread->waits_at);
  fail("block %u cannot go on: its threads wait for different things", index_);
}

void Block::run(uint32_t index, uint32_t threads, Body body) {
  index_ = index;
  poison_block_memory();
  begin(threads, body);
  for (;;) {
    run_ready();
    if (std::ranges::all_of(threads_, [](const auto& thread) { return thread->fibre.has_ended(); })) return;
    bool is_released = release_block();
    for (size_t first = 0; first < threads_.size(); first += warp_lanes) is_released |= release_warp(first);
    if (!is_released) report_stuck();
  }
}

}  // namespace

void run_blocks(uint32_t blocks, uint32_t threads, Body body) {
  const char* chosen = std::getenv("ONNXC_HOST_BLOCKS");
  if (chosen == nullptr)
    for (uint32_t index = 0; index < blocks; ++index) run_block(index, threads, body);
  while (chosen != nullptr && *chosen != '\0') {
    char* end = nullptr;
    const auto index = std::strtoul(chosen, &end, 10);
    if (end == chosen || index >= blocks) fail("ONNXC_HOST_BLOCKS has '%s' for a launch of %u blocks", chosen, blocks);
    run_block(static_cast<uint32_t>(index), threads, body);
    chosen = *end == ',' ? end + 1 : end;
  }
}
void run_block(uint32_t index, uint32_t threads, Body body) { block().run(index, threads, body); }

uint32_t block_index() { return block().index(); }
uint32_t thread_index() { return block().running().index; }
AsyncCopies& copies() { return block().running().copies; }
WarpgroupProducts& products() { return block().running().products; }
bool all_copies_are_ordered() { return block().all_copies_are_ordered(); }
void barrier() {
  copies().reach_barrier();
  block().wait_at(at_barrier);
}

const Exchanged& exchange(const char* word, const uint32_t* words, int count) {
  Thread& thread = block().running();
  Exchanged& exchanged = block().warp().exchanged[thread.exchanges++ % 2];
  std::copy_n(words, count, exchanged.words[thread.index % warp_lanes]);
  block().wait_at(word);
  return exchanged;
}

void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::fputs("host_blocks: ", stderr);
  std::vfprintf(stderr, format, arguments);
  std::fputs("\n", stderr);
  va_end(arguments);
  std::abort();
}

}  // namespace onnxc::host_blocks
