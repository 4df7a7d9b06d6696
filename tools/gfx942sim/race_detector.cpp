#include "gfx942sim/race_detector.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

namespace gfx942sim {

Races races_from_environment() {
  const char* text = std::getenv("GFX942SIM_RACES");
  const std::string_view value = text == nullptr ? "" : text;
  return value == "off" ? Races::none : value == "except-waits" ? Races::except_waits : Races::all;
}

// Memory of records, all zeros when it is given out.
struct RaceDetector::Memory {
  explicit Memory(uint64_t word_count)
      : words(word_count),
        bytes(words * sizeof(WordAccesses)),
        memory(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
        is_touched(std::make_unique<std::atomic<uint8_t>[]>(words / AccessRecord::stretch + 1)) {
    if (memory == MAP_FAILED) throw std::bad_alloc();
  }
  ~Memory() { munmap(memory, bytes); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Returns the bytes that had to be cleared: about what the system holds for it.
  uint64_t clear() {
    uint64_t cleared = 0;
    for (uint64_t begin = 0; begin < words; begin += AccessRecord::stretch) {
      if (is_touched[begin / AccessRecord::stretch].exchange(0, std::memory_order_relaxed) == 0) continue;
      const uint64_t size = std::min(AccessRecord::stretch, words - begin) * sizeof(WordAccesses);
      std::memset(static_cast<char*>(memory) + begin * sizeof(WordAccesses), 0, size);
      cleared += size;
    }
    return cleared;
  }

  uint64_t words, bytes;
  void* memory;
  std::unique_ptr<std::atomic<uint8_t>[]> is_touched;
};

// The tables that earlier launches have left: the system takes longer to give a new page than it takes to clear an old
// one.
class RaceDetector::Pool {
 public:
  static Pool& instance() {
    static auto* pool = new Pool;  // never destroyed: a host may use HIP while it exits
    return *pool;
  }
  std::unique_ptr<Memory> take(uint64_t words) {
    std::lock_guard lock(mutex_);
    const auto found = free_.lower_bound(words);
    if (found == free_.end() || found->first > most_waste * words + AccessRecord::stretch)
      return std::make_unique<Memory>(words);
    std::unique_ptr<Memory> memory = std::move(found->second);
    free_.erase(found);
    return memory;
  }
  void give_back(std::unique_ptr<Memory> memory) {
    if (memory->clear() > largest_kept) return;
    std::lock_guard lock(mutex_);
    if (free_.size() < most_kept) free_.emplace(memory->words, std::move(memory));
  }

 private:
  static constexpr uint64_t most_waste = 4, most_kept = 8, largest_kept = uint64_t{64} << 20;
  std::mutex mutex_;
  std::multimap<uint64_t, std::unique_ptr<Memory>> free_;
};

RaceDetector::RaceDetector(Races races) : races_(races) {}

RaceDetector::~RaceDetector() {
  for (auto& [allocation, memory] : records_) Pool::instance().give_back(std::move(memory));
}

AccessRecord RaceDetector::record_of(const Allocation& allocation) {
  if (races_ == Races::none || allocation.is_kernel_arguments || allocation.size > largest_allocation) return {};
  std::lock_guard lock(mutex_);
  std::unique_ptr<Memory>& memory = records_[&allocation];
  if (!memory) memory = Pool::instance().take(allocation.size / 4 + 1);
  return {static_cast<WordAccesses*>(memory->memory), memory->is_touched.get()};
}

void RaceDetector::publish(uint64_t address, uint64_t group, const std::set<uint64_t>& acquired) {
  std::lock_guard lock(mutex_);
  std::set<uint64_t>& groups = published_[address];
  groups.insert(group);
  groups.insert(acquired.begin(), acquired.end());
  has_published_ = true;
}

void RaceDetector::collect(uint64_t address, std::set<uint64_t>& groups) {
  if (!has_published_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mutex_);
  const auto found = published_.find(address);
  if (found != published_.end()) groups.insert(found->second.begin(), found->second.end());
}

void GroupAccesses::begin_group(uint64_t group) {
  group_ = group;
  epoch_ = 0;
  acquired_.clear();
  for (OfWave& wave : waves_) {
    wave.releases = false;
    wave.collected.clear();
    wave.stores.clear();
  }
}

void GroupAccesses::begin_instruction(int wave, uint64_t instruction, bool is_atomic) {
  const auto number = static_cast<uint32_t>(std::min<uint64_t>(instruction, uint64_t{AccessTag::unknown_instruction}));
  current_ = AccessTag(group_, static_cast<uint32_t>(wave), epoch_, number);
  current_is_atomic_ = is_atomic;
}

void GroupAccesses::find_record(const Allocation& allocation) {
  auto found = std::ranges::find(known_, &allocation, &std::pair<const Allocation*, AccessRecord>::first);
  if (found == known_.end()) found = known_.insert(found, {&allocation, detector_.record_of(allocation)});
  allocation_ = &allocation;
  record_ = found->second;
}

bool GroupAccesses::is_race(AccessTag other) const {
  if (other.group() == current_.group()) {
    if (other.epoch() < epoch_ || epoch_ == AccessTag::last_epoch) return false;
  } else if (acquired_.contains(other.group()) || (other.group() == AccessTag::several_groups && !acquired_.empty())) {
    return false;
  }
  if (!current_is_atomic_) return true;
  return other.instruction() != AccessTag::unknown_instruction && !is_atomic_(instructions_, other.instruction());
}

// The last reader, or that there are several: who writes then is another than one of them.
AccessTag GroupAccesses::merge_read(AccessTag read, AccessTag mine) {
  if (!read.meets(mine)) return read.is_of_same_epoch(mine) ? mine.of_bytes(mine.bytes() | read.bytes()) : mine;
  if (read.group() == AccessTag::several_groups) return read;
  const uint32_t both = read.bytes() & mine.bytes();
  if (read.group() != mine.group()) return mine.of_bytes(both).of_several_groups();
  return read.epoch() == mine.epoch() ? mine.of_bytes(both).of_several_waves() : mine;
}

void GroupAccesses::note_store(const Wave& wave, uint32_t number, const std::array<uint64_t, wave_size>& addresses,
                               uint32_t length) {
  constexpr size_t usual_depth = 32;
  if (waves_.size() < 2 || detector_.races() != Races::all) return;
  std::vector<Store>& stores = waves_[static_cast<size_t>(wave.number())].stores;
  if (stores.size() >= usual_depth)
    std::erase_if(stores,
                  [&](const Store& store) { return wave.counters.is_complete(Queue::vector_memory, store.number); });
  stores.push_back({number, length, current_, addresses});
}

// Accesses that were not waited for may happen after the barrier too.
void GroupAccesses::pass_barrier(const std::vector<Wave>& waves, const DeviceMemory& memory) {
  epoch_ = std::min(epoch_ + 1, AccessTag::last_epoch);
  for (const Wave& wave : waves) {
    std::vector<Store>& stores = waves_[static_cast<size_t>(wave.number())].stores;
    std::erase_if(stores,
                  [&](const Store& store) { return wave.counters.is_complete(Queue::vector_memory, store.number); });
    for (Store& store : stores) {
      for (const uint64_t address : store.addresses) {
        const Allocation* allocation = address != 0 ? memory.find(address, store.length) : nullptr;
        if (allocation == nullptr) continue;
        find_record(*allocation);
        WordAccesses* words = record_.words;
        if (words == nullptr) continue;
        const uint64_t begin = address - allocation->address;
        for (uint64_t word = begin / 4; 4 * word < begin + store.length; ++word) {
          const AccessTag write(words[word].write.load(std::memory_order_relaxed));
          if (write.is_of_same_epoch(store.tag))
            words[word].write.store(write.of_epoch(epoch_).bits(), std::memory_order_relaxed);
        }
      }
      store.tag = store.tag.of_epoch(epoch_);
    }
  }
}

void GroupAccesses::acquire(int wave) {
  const std::set<uint64_t>& collected = waves_[static_cast<size_t>(wave)].collected;
  acquired_.insert(collected.begin(), collected.end());
}

void GroupAccesses::publish(int wave, uint64_t address) {
  if (waves_[static_cast<size_t>(wave)].releases) detector_.publish(address, current_.group(), acquired_);
}

}  // namespace gfx942sim
