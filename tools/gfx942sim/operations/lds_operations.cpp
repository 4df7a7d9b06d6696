// LDS instructions, and the exchanges between lanes that go through its crossbar.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "gfx942sim/operations/atomic_functions.h"
#include "gfx942sim/operations/lane_conflicts.h"
#include "gfx942sim/operations/operation_table.h"
#include "gfx942sim/operations/vector_operation.h"
#include "gfx942sim/wave/work_group.h"

namespace gfx942sim {
namespace {

using Addresses = std::array<uint32_t, wave_size>;

Addresses lane_addresses(Wave& wave, const Operand& operand, int64_t offset, LaneBits lanes) {
  const LaneWords& words = wave.read_vector(operand, 0, lanes);
  Addresses addresses;
  for (int lane = 0; lane < wave_size; ++lane) addresses[lane] = words[lane] + static_cast<uint32_t>(offset);
  return addresses;
}

bool is_right(Lds& lds, uint32_t address, uint32_t length, LdsAccess access, int wave) {
  switch (length) {
    case 4:
      return lds.is_right<4>(address, access, wave);
    case 8:
      return lds.is_right<8>(address, access, wave);
    case 16:
      return lds.is_right<16>(address, access, wave);
    default:
      return false;
  }
}

// Checks an access of all active lanes, counts it, and notes it until it is waited for. Tells of a write whether some
// of the lanes have the same address.
bool begin_access(Wave& wave, const Addresses& addresses, LaneBits lanes, uint32_t length, LdsAccess access,
                  uint32_t number) {
  WorkGroup& group = wave.group();
  const uint32_t alignment = std::min(length, 4U);
  for (int lane = 0; lane < wave_size; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    if (addresses[lane] % alignment != 0)
      wave.fail(lane, fmt::format("touches {} bytes of LDS at {}, which is not aligned", length, addresses[lane]));
    if (!is_right(group.lds, addresses[lane], length, access, wave.number()))
      if (auto wrong = group.lds.check(addresses[lane], length, access, wave.number())) wave.fail(lane, *wrong);
    group.check_lds_arrived(wave, lane, addresses[lane], length);
  }
  const WorkGroup::LdsPattern pattern = group.pattern_of_lds(addresses, lanes, length, access != LdsAccess::read);
  group.counts.lds_cycles += pattern.cycles.total;
  group.counts.lds_conflict_cycles += pattern.cycles.conflicts;
  group.counts.lds_bytes += length * static_cast<uint64_t>(std::popcount(lanes));
  if (group.has_several_waves()) group.note_lds_operation(wave, Queue::lds, number, access, addresses, lanes, length);
  return pattern.has_lanes_in_common;
}

struct ReadFormat {
  uint32_t bytes;
  bool sign_extend = false;
  bool half = false;
  bool high_half = false;
};

[[gnu::noinline]] void read_words(Wave& wave, const Instruction& instruction, const Addresses& addresses,
                                  LaneBits lanes, int first_word, const ReadFormat& format, uint32_t number) {
  begin_access(wave, addresses, lanes, format.bytes, LdsAccess::read, number);
  const int words = static_cast<int>((format.bytes + 3) / 4);
  const uint32_t word_bytes = std::min(format.bytes, 4U);
  const uint8_t bytes = !format.half ? whole_register : format.high_half ? 0b1100 : 0b0011;
  for (int word = 0; word < words; ++word) {
    LaneWords values{};
    for (int lane = 0; lane < wave_size; ++lane) {
      if (!(lanes >> lane & 1)) continue;
      const uint8_t* bytes_of_word = wave.group().lds.bytes(addresses[lane] + 4 * static_cast<uint32_t>(word));
      if (word_bytes == 4)
        std::memcpy(&values[lane], bytes_of_word, 4);
      else
        std::memcpy(&values[lane], bytes_of_word, word_bytes);
      if (format.sign_extend) {
        const int unused = static_cast<int>(32 - 8 * word_bytes);
        values[lane] = static_cast<uint32_t>(static_cast<int32_t>(values[lane] << unused) >> unused);
      }
      if (format.high_half) values[lane] <<= 16;
    }
    wave.write_vector_later(instruction.operands[0], first_word + word, values, lanes, Queue::lds, number, bytes);
  }
}

template <ReadFormat format>
void execute_read(Wave& wave, const Instruction& instruction) {
  const LaneBits lanes = wave.exec();
  const Addresses addresses = lane_addresses(wave, instruction.operands[1], instruction.offset, lanes);
  read_words(wave, instruction, addresses, lanes, 0, format, wave.counters.issue(Queue::lds));
}

// Two reads at two offsets, in units of their size (times 64 for the st64 forms).
template <uint32_t bytes, int64_t unit>
void execute_read_two(Wave& wave, const Instruction& instruction) {
  const LaneBits lanes = wave.exec();
  const Addresses first = lane_addresses(wave, instruction.operands[1], instruction.offset0 * unit, lanes);
  const Addresses second = lane_addresses(wave, instruction.operands[1], instruction.offset1 * unit, lanes);
  const uint32_t number = wave.counters.issue(Queue::lds);
  read_words(wave, instruction, first, lanes, 0, {bytes}, number);
  read_words(wave, instruction, second, lanes, bytes / 4, {bytes}, number);
}

struct WriteFormat {
  uint32_t bytes;
  bool high_half = false;
};

[[gnu::noinline]] void write_words(Wave& wave, const Operand& data, const Addresses& addresses, LaneBits lanes,
                                   const WriteFormat& format, uint32_t number) {
  const bool lanes_meet = begin_access(wave, addresses, lanes, format.bytes, LdsAccess::write, number);
  Lds& lds = wave.group().lds;
  const int words = static_cast<int>((format.bytes + 3) / 4);
  const uint32_t word_bytes = std::min(format.bytes, 4U);
  const auto byte_mask = static_cast<uint8_t>(((1U << word_bytes) - 1) << (format.high_half ? 2 : 0));
  for (int word = 0; word < words; ++word) {
    const LaneWords& values = wave.read_vector(data, word, lanes, byte_mask);
    for (int lane = 0; lane < wave_size; ++lane) {
      if (!(lanes >> lane & 1)) continue;
      const uint32_t value = format.high_half ? values[lane] >> 16 : values[lane];
      std::memcpy(lds.bytes(addresses[lane] + 4 * static_cast<uint32_t>(word)), &value, word_bytes);
    }
  }
  for (int lane = 0; lane < wave_size; ++lane)
    if (lanes >> lane & 1) lds.mark_written(addresses[lane], format.bytes);
  if (lanes_meet) check_common_addresses(wave, data, addresses, lanes, format.bytes, format.high_half, "of LDS at");
}

template <WriteFormat format>
void execute_write(Wave& wave, const Instruction& instruction) {
  const LaneBits lanes = wave.exec();
  const Addresses addresses = lane_addresses(wave, instruction.operands[0], instruction.offset, lanes);
  write_words(wave, instruction.operands[1], addresses, lanes, format, wave.counters.issue(Queue::lds));
}

template <uint32_t bytes, int64_t unit>
void execute_write_two(Wave& wave, const Instruction& instruction) {
  const LaneBits lanes = wave.exec();
  const Addresses first = lane_addresses(wave, instruction.operands[0], instruction.offset0 * unit, lanes);
  const Addresses second = lane_addresses(wave, instruction.operands[0], instruction.offset1 * unit, lanes);
  const uint32_t number = wave.counters.issue(Queue::lds);
  write_words(wave, instruction.operands[1], first, lanes, {bytes}, number);
  write_words(wave, instruction.operands[2], second, lanes, {bytes}, number);
}

// noinline: every row would get a copy of its own.
template <class Bits>
[[gnu::noinline]] void atomic_operation(Wave& wave, const Instruction& instruction, AtomicFunction<Bits> function,
                                        bool compares, bool returns) {
  const LaneBits lanes = wave.exec();
  const size_t first = returns ? 1 : 0;
  const Addresses addresses = lane_addresses(wave, instruction.operands[first], instruction.offset, lanes);
  const uint32_t number = wave.counters.issue(Queue::lds);
  begin_access(wave, addresses, lanes, sizeof(Bits), LdsAccess::atomic, number);
  constexpr int words = sizeof(Bits) / 4;
  // In a compare-and-swap the compared value comes first.
  LaneWords operand[2] = {}, compared[2] = {}, old_words[2] = {};
  for (int word = 0; word < words; ++word) {
    operand[word] = wave.read_vector(instruction.operands[first + (compares ? 2 : 1)], word, lanes);
    if (compares) compared[word] = wave.read_vector(instruction.operands[first + 1], word, lanes);
  }
  auto join = [](const LaneWords(&from)[2], int lane) {
    return static_cast<Bits>(from[0][lane] | uint64_t{from[1][lane]} << 32);
  };
  for (int lane = 0; lane < wave_size; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    Bits old;
    std::memcpy(&old, wave.group().lds.bytes(addresses[lane]), sizeof old);
    const Bits changed = function(old, join(operand, lane), join(compared, lane));
    std::memcpy(wave.group().lds.bytes(addresses[lane]), &changed, sizeof changed);
    old_words[0][lane] = static_cast<uint32_t>(old);
    if constexpr (words == 2) old_words[1][lane] = static_cast<uint32_t>(old >> 32);
  }
  if (returns)
    for (int word = 0; word < words; ++word)
      wave.write_vector_later(instruction.operands[0], word, old_words[word], lanes, Queue::lds, number);
}

template <class Bits, AtomicFunction<Bits> function, bool compares, bool returns>
void execute_atomic(Wave& wave, const Instruction& instruction) {
  atomic_operation<Bits>(wave, instruction, function, compares, returns);
}

template <class Bits, AtomicFunction<Bits> function, bool compares = false>
void add_atomic(Operations& rows, const std::string& operation, const std::string& type) {
  add_row(rows, "ds_" + operation + "_" + type, Unit::lds, &execute_atomic<Bits, function, compares, false>);
  add_row(rows, "ds_" + operation + "_rtn_" + type, Unit::lds, &execute_atomic<Bits, function, compares, true>);
}

template <class Unsigned>
void add_integer_atomics(Operations& rows) {
  using Signed = std::make_signed_t<Unsigned>;
  namespace a = atomic;
  const std::string bits = sizeof(Unsigned) == 8 ? "64" : "32";
  add_atomic<Unsigned, atomic_of<Unsigned, Unsigned, a::add<Unsigned>>>(rows, "add", "u" + bits);
  add_atomic<Unsigned, atomic_of<Unsigned, Unsigned, a::subtract<Unsigned>>>(rows, "sub", "u" + bits);
  add_atomic<Unsigned, atomic_of<Unsigned, Unsigned, a::bit_and<Unsigned>>>(rows, "and", "b" + bits);
  add_atomic<Unsigned, atomic_of<Unsigned, Unsigned, a::bit_or<Unsigned>>>(rows, "or", "b" + bits);
  add_atomic<Unsigned, atomic_of<Unsigned, Unsigned, a::bit_xor<Unsigned>>>(rows, "xor", "b" + bits);
  add_atomic<Unsigned, atomic_of<Unsigned, Unsigned, a::least<Unsigned>>>(rows, "min", "u" + bits);
  add_atomic<Unsigned, atomic_of<Unsigned, Unsigned, a::greatest<Unsigned>>>(rows, "max", "u" + bits);
  add_atomic<Unsigned, atomic_of<Unsigned, Signed, a::least<Signed>>>(rows, "min", "i" + bits);
  add_atomic<Unsigned, atomic_of<Unsigned, Signed, a::greatest<Signed>>>(rows, "max", "i" + bits);
  add_atomic<Unsigned, atomic_of<Unsigned, Unsigned, a::wrapping_increment<Unsigned>>>(rows, "inc", "u" + bits);
  add_atomic<Unsigned, atomic_of<Unsigned, Unsigned, a::wrapping_decrement<Unsigned>>>(rows, "dec", "u" + bits);
  add_atomic<Unsigned, a::compare_exchange<Unsigned>, true>(rows, "cmpst", "b" + bits);
  add_row(rows, "ds_wrxchg_rtn_b" + bits, Unit::lds,
          &execute_atomic<Unsigned, atomic_of<Unsigned, Unsigned, a::exchange<Unsigned>>, false, true>);
}

// Each lane fetches from the lane that its address names; an inactive source gives zero.
void execute_backward_permute(Wave& wave, const Instruction& instruction) {
  const LaneBits lanes = wave.exec();
  const Addresses addresses = lane_addresses(wave, instruction.operands[1], instruction.offset, lanes);
  LaneBits sources = 0;
  for (int lane = 0; lane < wave_size; ++lane)
    if (lanes >> lane & 1) sources |= LaneBits{1} << (addresses[lane] / 4 % wave_size);
  const LaneWords& data = wave.read_vector(instruction.operands[2], 0, sources & lanes);
  LaneWords values{};
  for (int lane = 0; lane < wave_size; ++lane) {
    const uint32_t source = addresses[lane] / 4 % wave_size;
    values[lane] = (lanes >> source & 1) ? data[source] : 0;
  }
  wave.write_vector_later(instruction.operands[0], 0, values, lanes, Queue::lds, wave.counters.issue(Queue::lds));
}

// Each lane sends to the lane that its address names; zero arrives if nobody sends.
void execute_forward_permute(Wave& wave, const Instruction& instruction) {
  const LaneBits lanes = wave.exec();
  const Addresses addresses = lane_addresses(wave, instruction.operands[1], instruction.offset, lanes);
  const LaneWords& data = wave.read_vector(instruction.operands[2], 0, lanes);
  LaneWords values{};
  for (int lane = 0; lane < wave_size; ++lane)
    if (lanes >> lane & 1) values[addresses[lane] / 4 % wave_size] = data[lane];
  wave.write_vector_later(instruction.operands[0], 0, values, lanes, Queue::lds, wave.counters.issue(Queue::lds));
}

// The lane of its half of the wave that a lane fetches from.
int swizzle_source(Wave& wave, const Instruction& instruction, int lane) {
  const int half = lane & 32, in_half = lane & 31;
  const std::vector<int>& arguments = instruction.swizzle_arguments;
  const std::string& mode = instruction.swizzle_mode;
  if (mode == "QUAD_PERM" && arguments.size() == 4) return (lane & ~3) + arguments[static_cast<size_t>(lane & 3)];
  if (mode == "SWAP" && arguments.size() == 1) return half | (in_half ^ arguments[0]);
  if (mode == "REVERSE" && arguments.size() == 1) return half | (in_half ^ (arguments[0] - 1));
  if (mode == "BROADCAST" && arguments.size() == 2) return half | ((in_half & ~(arguments[0] - 1)) | arguments[1]);
  if (mode.starts_with("BITMASK_PERM\"") && mode.size() == 19) {
    // From the highest bit: p keeps it, i inverts it, 0 and 1 set it.
    int source = 0;
    for (int bit = 0; bit < 5; ++bit) {
      const char rule = mode[static_cast<size_t>(17 - bit)];
      const int old = in_half >> bit & 1;
      source |= (rule == 'p' ? old : rule == 'i' ? !old : rule == '1') << bit;
    }
    return half | source;
  }
  wave.fail(-1, "has a swizzle pattern that is not known to the simulator");
}

void execute_swizzle(Wave& wave, const Instruction& instruction) {
  const LaneBits lanes = wave.exec();
  std::array<int, wave_size> source;
  LaneBits sources = 0;
  for (int lane = 0; lane < wave_size; ++lane) {
    source[lane] = swizzle_source(wave, instruction, lane);
    if (lanes >> lane & 1) sources |= LaneBits{1} << source[lane];
  }
  const LaneWords& data = wave.read_vector(instruction.operands[1], 0, sources & lanes);
  LaneWords values{};
  for (int lane = 0; lane < wave_size; ++lane) values[lane] = (lanes >> source[lane] & 1) ? data[source[lane]] : 0;
  wave.write_vector_later(instruction.operands[0], 0, values, lanes, Queue::lds, wave.counters.issue(Queue::lds));
}

template <ReadFormat format>
void add_read(Operations& rows, const char* suffix) {
  add_row(rows, std::string("ds_read_") + suffix, Unit::lds, &execute_read<format>);
}

template <WriteFormat format>
void add_write(Operations& rows, const char* suffix) {
  add_row(rows, std::string("ds_write_") + suffix, Unit::lds, &execute_write<format>);
}

}  // namespace

void add_lds_operations(Operations& rows) {
  add_read<ReadFormat{1}>(rows, "u8");
  add_read<ReadFormat{1, true}>(rows, "i8");
  add_read<ReadFormat{2}>(rows, "u16");
  add_read<ReadFormat{2, true}>(rows, "i16");
  add_read<ReadFormat{4}>(rows, "b32");
  add_read<ReadFormat{8}>(rows, "b64");
  add_read<ReadFormat{12}>(rows, "b96");
  add_read<ReadFormat{16}>(rows, "b128");
  add_read<ReadFormat{1, false, true}>(rows, "u8_d16");
  add_read<ReadFormat{1, false, true, true}>(rows, "u8_d16_hi");
  add_read<ReadFormat{1, true, true}>(rows, "i8_d16");
  add_read<ReadFormat{1, true, true, true}>(rows, "i8_d16_hi");
  add_read<ReadFormat{2, false, true}>(rows, "u16_d16");
  add_read<ReadFormat{2, false, true, true}>(rows, "u16_d16_hi");
  add_write<WriteFormat{1}>(rows, "b8");
  add_write<WriteFormat{1, true}>(rows, "b8_d16_hi");
  add_write<WriteFormat{2}>(rows, "b16");
  add_write<WriteFormat{2, true}>(rows, "b16_d16_hi");
  add_write<WriteFormat{4}>(rows, "b32");
  add_write<WriteFormat{8}>(rows, "b64");
  add_write<WriteFormat{12}>(rows, "b96");
  add_write<WriteFormat{16}>(rows, "b128");
  add_row(rows, "ds_read2_b32", Unit::lds, &execute_read_two<4, 4>);
  add_row(rows, "ds_read2_b64", Unit::lds, &execute_read_two<8, 8>);
  add_row(rows, "ds_read2st64_b32", Unit::lds, &execute_read_two<4, 256>);
  add_row(rows, "ds_read2st64_b64", Unit::lds, &execute_read_two<8, 512>);
  add_row(rows, "ds_write2_b32", Unit::lds, &execute_write_two<4, 4>);
  add_row(rows, "ds_write2_b64", Unit::lds, &execute_write_two<8, 8>);
  add_row(rows, "ds_write2st64_b32", Unit::lds, &execute_write_two<4, 256>);
  add_row(rows, "ds_write2st64_b64", Unit::lds, &execute_write_two<8, 512>);
  add_integer_atomics<uint32_t>(rows);
  add_integer_atomics<uint64_t>(rows);
  add_atomic<uint32_t, atomic_of<uint32_t, float, atomic::add<float>>>(rows, "add", "f32");
  add_atomic<uint64_t, atomic_of<uint64_t, double, atomic::add<double>>>(rows, "add", "f64");
  add_atomic<uint32_t, atomic_of<uint32_t, float, atomic::least<float>>>(rows, "min", "f32");
  add_atomic<uint32_t, atomic_of<uint32_t, float, atomic::greatest<float>>>(rows, "max", "f32");
  add_row(rows, "ds_bpermute_b32", Unit::lds, &execute_backward_permute);
  add_row(rows, "ds_permute_b32", Unit::lds, &execute_forward_permute);
  add_row(rows, "ds_swizzle_b32", Unit::lds, &execute_swizzle);
}

}  // namespace gfx942sim
