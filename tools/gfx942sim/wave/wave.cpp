#include "gfx942sim/wave/wave.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace gfx942sim {
namespace {

std::string register_name(const Operand& operand, int word) {
  return fmt::format("{}{}", operand.kind == OperandKind::accumulator ? 'a' : 'v', operand.index + word);
}

std::string scalar_name(int index) {
  switch (index) {
    case vcc_register:
      return "vcc_lo";
    case vcc_register + 1:
      return "vcc_hi";
    case exec_register:
      return "exec_lo";
    case exec_register + 1:
      return "exec_hi";
    case m0_register:
      return "m0";
    case flat_scratch_register:
      return "flat_scratch_lo";
    case flat_scratch_register + 1:
      return "flat_scratch_hi";
    default:
      return fmt::format("s{}", index);
  }
}

const char* counter_name(Queue queue) { return queue == Queue::vector_memory ? "vmcnt" : "lgkmcnt"; }

}  // namespace

void Wave::reset(WorkGroup& group, int number, int vector_registers, int accumulators, int scratch_bytes_per_lane) {
  group_ = &group;
  number_ = number;
  vector_count_ = vector_registers;
  accumulator_count_ = accumulators;
  vectors_.resize(static_cast<size_t>(vector_registers + accumulators));
  for (VectorRegister& vector : vectors_) {
    std::memset(vector.written, 0, sizeof vector.written);
    std::memset(vector.pending, 0, sizeof vector.pending);
  }
  scalars_.fill(0);
  scalar_known_.fill(0);
  scalar_pending_.fill(0);
  scalar_known_[exec_register] = scalar_known_[exec_register + 1] = ~0U;
  scc_written_ = false;
  scratch_size_ = static_cast<uint32_t>(scratch_bytes_per_lane);
  scratch_bytes_.assign(size_t{scratch_size_} * wave_size, 0xff);
  scratch_written_.assign(size_t{scratch_size_} * wave_size, 0);
  counters = {};
  history = {};
  clock = {};
  memory_accesses = 0;
  mode = {};
  at_barrier = ended = false;
  indexing = {};
}

VectorRegister& Wave::vector_register(const Operand& operand, int word) {
  const bool accumulator = operand.kind == OperandKind::accumulator;
  const int count = accumulator ? accumulator_count_ : vector_count_;
  const int index = operand.index + word;
  if (index >= count)
    fail(-1, fmt::format("uses {}, but the kernel's descriptor asks for {} {}", register_name(operand, word), count,
                         accumulator ? "accumulators" : "vector registers"));
  return vectors_[static_cast<size_t>(accumulator ? vector_count_ + index : index)];
}

void Wave::require_arrived(const VectorRegister& vector, const Operand& operand, int word) const {
  for (Queue queue : {Queue::vector_memory, Queue::lds, Queue::unordered})
    if (!counters.is_complete(queue, vector.pending[static_cast<int>(queue)]))
      fail(-1, fmt::format("uses {} before an s_waitcnt {} for the memory operation that fills it",
                           register_name(operand, word), counter_name(queue)));
}

const LaneWords& Wave::read_vector(const Operand& operand, int word, LaneBits lanes, uint8_t bytes) {
  const VectorRegister& vector = vector_register(operand, word);
  require_arrived(vector, operand, word);
  LaneBits written = ~LaneBits{0};
  for (int byte = 0; byte < 4; ++byte)
    if (bytes >> byte & 1) written &= vector.written[byte];
  if (const LaneBits missing = lanes & ~written)
    fail(std::countr_zero(missing), fmt::format("reads {}, which was never written", register_name(operand, word)));
  return vector.lanes;
}

const VectorRegister& Wave::peek_vector(const Operand& operand, int word) {
  const VectorRegister& vector = vector_register(operand, word);
  require_arrived(vector, operand, word);
  return vector;
}

namespace {

void store_lanes(VectorRegister& vector, const LaneWords& values, LaneBits lanes, uint8_t bytes) {
  uint32_t keep = 0;
  for (int byte = 0; byte < 4; ++byte) {
    if (bytes >> byte & 1)
      vector.written[byte] |= lanes;
    else
      keep |= 0xffU << (8 * byte);
  }
  if (lanes == ~LaneBits{0} && keep == 0) {
    vector.lanes = values;
    return;
  }
  for (int lane = 0; lane < wave_size; ++lane) {
    const uint32_t kept = (lanes >> lane & 1) ? keep : ~0U;
    vector.lanes[lane] = (vector.lanes[lane] & kept) | (values[lane] & ~kept);
  }
}

}  // namespace

void Wave::write_vector(const Operand& operand, int word, const LaneWords& values, LaneBits lanes, uint8_t bytes) {
  VectorRegister& vector = vector_register(operand, word);
  require_arrived(vector, operand, word);
  store_lanes(vector, values, lanes, bytes);
}

void Wave::mark_unwritten(const Operand& operand, int word, LaneBits lanes, uint8_t bytes) {
  for (int byte = 0; byte < 4; ++byte)
    if (bytes >> byte & 1) vector_register(operand, word).written[byte] &= ~lanes;
}

void Wave::write_vector_later(const Operand& operand, int word, const LaneWords& values, LaneBits lanes, Queue queue,
                              uint32_t number, uint8_t bytes) {
  VectorRegister& vector = vector_register(operand, word);
  // Two operations of one queue arrive in their order; of two queues, either may come last.
  for (Queue other : {Queue::vector_memory, Queue::lds, Queue::unordered})
    if (other != queue && !counters.is_complete(other, vector.pending[static_cast<int>(other)]))
      fail(-1, fmt::format("fills {} while another memory operation, not waited for by an s_waitcnt {}, fills it",
                           register_name(operand, word), counter_name(other)));
  store_lanes(vector, values, lanes, bytes);
  mark_unwritten(operand, word, lanes, static_cast<uint8_t>(whole_register & ~bytes));
  vector.pending[static_cast<int>(queue)] = number;
}

void Wave::check_arrived_scalar(int index) const {
  if (!counters.is_complete(Queue::unordered, scalar_pending_[index]))
    fail(-1, fmt::format("uses {} before an s_waitcnt lgkmcnt(0) for the load that fills it", scalar_name(index)));
}

uint32_t Wave::read_scalar(int index) {
  check_arrived_scalar(index);
  if (scalar_known_[index] != ~0U) fail(-1, fmt::format("reads {}, which was never written", scalar_name(index)));
  return scalars_[index];
}

void Wave::write_scalar(int index, uint32_t value) {
  check_arrived_scalar(index);
  scalars_[index] = value;
  scalar_known_[index] = ~0U;
}

void Wave::write_scalar_later(int index, uint32_t value, bool written, uint32_t number) {
  scalars_[index] = value;
  scalar_known_[index] = written ? ~0U : 0;
  scalar_pending_[index] = number;
}

void Wave::set_scalar_pair(int index, uint64_t value) {
  write_scalar(index, static_cast<uint32_t>(value));
  write_scalar(index + 1, static_cast<uint32_t>(value >> 32));
}

uint32_t Wave::read_uniform(const Operand& operand, int word) {
  switch (operand.kind) {
    case OperandKind::scalar:
      return read_scalar(operand.index + word);
    case OperandKind::constant:
      return static_cast<uint32_t>(operand.bits >> (32 * word));
    case OperandKind::scc:
      return word == 0 ? read_scc() : 0;
    default:
      fail(-1, "has an operand that must be a scalar register or a constant");
  }
}

uint64_t Wave::read_uniform_pair(const Operand& operand) {
  return read_uniform(operand, 0) | uint64_t{read_uniform(operand, 1)} << 32;
}

void Wave::write_uniform_pair(const Operand& operand, uint64_t value) {
  if (operand.kind != OperandKind::scalar) fail(-1, "has a destination that must be a pair of scalar registers");
  set_scalar_pair(operand.index, value);
}

uint64_t Wave::read_mask(const Operand& operand, LaneBits lanes) {
  const KnownBits bits = peek_uniform(operand, 2);
  if (const LaneBits missing = lanes & ~bits.known)
    fail(std::countr_zero(missing),
         fmt::format("reads {}, which was never written",
                     scalar_name(operand.index + (std::countr_zero(missing) >= 32 ? 1 : 0))));
  return bits.value;
}

KnownBits Wave::peek_uniform(const Operand& operand, int words) {
  KnownBits bits;
  if (operand.kind != OperandKind::scalar) {
    bits.value = words == 2 ? read_uniform_pair(operand) : read_uniform(operand);
    return bits;
  }
  for (int word = words - 1; word >= 0; --word) {
    const int index = operand.index + word;
    check_arrived_scalar(index);
    bits.value = bits.value << 32 | scalars_[index];
    bits.known = bits.known << 32 | scalar_known_[index];
  }
  return bits;
}

void Wave::write_known(const Operand& operand, int words, KnownBits bits) {
  if (operand.kind != OperandKind::scalar) fail(-1, "has a destination that must be a scalar register");
  for (int word = 0; word < words; ++word) {
    const int index = operand.index + word;
    const auto known = static_cast<uint32_t>(bits.known >> (32 * word));
    if (known != ~0U && (index == exec_register || index == exec_register + 1))
      fail(-1, "sets EXEC to bits that were never written");
    write_scalar(index, static_cast<uint32_t>(bits.value >> (32 * word)));
    scalar_known_[index] = known;
  }
}

void Wave::mark_unwritten_pair(const Operand& operand) {
  scalar_known_[operand.index] = scalar_known_[operand.index + 1] = 0;
}

bool Wave::read_scc() {
  if (!scc_written_) fail(-1, "reads SCC, which was never written");
  return scc_;
}

void Wave::write_scc(bool value) {
  scc_ = value;
  scc_written_ = true;
}

std::pair<uint8_t*, uint8_t*> Wave::scratch(int lane, uint64_t address, uint32_t length) {
  if (address > scratch_size_ || length > scratch_size_ - address) return {nullptr, nullptr};
  const size_t offset = size_t{scratch_size_} * static_cast<size_t>(lane) + address;
  return {scratch_bytes_.data() + offset, scratch_written_.data() + offset};
}

}  // namespace gfx942sim
