// Global, FLAT, scratch and buffer instructions.
#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <type_traits>

#include "gfx942sim/operations/atomic_functions.h"
#include "gfx942sim/operations/lane_conflicts.h"
#include "gfx942sim/operations/operation_table.h"
#include "gfx942sim/operations/vector_operation.h"
#include "gfx942sim/wave/work_group.h"

namespace gfx942sim {
namespace {

enum class Addressing { global, flat, scratch, buffer };

// The target of one lane's access: nothing (out of a buffer's range), memory, or LDS through a FLAT address.
struct Target {
  std::byte* bytes = nullptr;
  uint64_t address = 0;        // on the device, for memory
  uint8_t* written = nullptr;  // scratch: flags of the bytes
  bool in_lds = false;
  uint32_t lds_address = 0;
};

// The operands of an instruction that say where to; found once for all lanes.
struct AddressOperands {
  Addressing addressing;
  LaneWords low{}, high{};     // the vector address (an offset or an index for buffers)
  uint64_t base = 0;           // the scalar part
  uint32_t records = 0;        // buffer: the descriptor's size
  uint32_t stride = 0;         // buffer
  uint32_t scalar_offset = 0;  // buffer
  bool uses_index = false, uses_offset = false;
};

bool is_register(const Operand& operand) {
  return operand.kind == OperandKind::vector || operand.kind == OperandKind::accumulator;
}

AddressOperands read_buffer_operands(Wave& wave, const Instruction& instruction, size_t address_position,
                                     LaneBits lanes) {
  AddressOperands operands{.addressing = Addressing::buffer};
  const size_t resource = address_position + 1;
  uint32_t descriptor[4];
  for (int i = 0; i < 4; ++i) descriptor[i] = wave.read_uniform(instruction.operands[resource], i);
  operands.base = descriptor[0] | uint64_t{descriptor[1] & 0xffff} << 32;
  operands.stride = descriptor[1] >> 16 & 0x3fff;
  operands.records = descriptor[2];
  operands.scalar_offset = wave.read_uniform(instruction.operands[resource + 1]);
  operands.uses_index = instruction.index_enabled;
  operands.uses_offset = instruction.offset_enabled;
  const bool swizzled = descriptor[1] >> 31, adds_lane = descriptor[3] >> 23 & 1;
  if (swizzled || adds_lane) wave.fail(-1, "uses a swizzled buffer, which is not known to the simulator");
  if (operands.uses_index || operands.uses_offset) {
    operands.low = wave.read_vector(instruction.operands[address_position], 0, lanes);
    if (operands.uses_index && operands.uses_offset)
      operands.high = wave.read_vector(instruction.operands[address_position], 1, lanes);
  }
  return operands;
}

AddressOperands read_address_operands(Wave& wave, const Instruction& instruction, Addressing addressing,
                                      size_t address_position, size_t scalar_position, LaneBits lanes) {
  if (addressing == Addressing::buffer) return read_buffer_operands(wave, instruction, address_position, lanes);
  AddressOperands operands{.addressing = addressing};
  const Operand& address = instruction.operands[address_position];
  const bool has_scalar = addressing != Addressing::flat && scalar_position < instruction.operands.size() &&
                          instruction.operands[scalar_position].kind != OperandKind::off;
  if (is_register(address)) {
    operands.low = wave.read_vector(address, 0, lanes);
    if (address.registers == 2) operands.high = wave.read_vector(address, 1, lanes);
  }
  if (has_scalar) {
    const Operand& scalar = instruction.operands[scalar_position];
    operands.base = scalar.registers == 2 ? wave.read_uniform_pair(scalar) : wave.read_uniform(scalar);
  }
  return operands;
}

Target buffer_target(Wave& wave, const Instruction& instruction, const AddressOperands& operands, int lane,
                     uint32_t length, uint32_t displacement, bool write, const void* stored) {
  const uint32_t index = operands.uses_index ? operands.low[lane] : 0;
  const uint32_t vector_offset = !operands.uses_offset ? 0
                                 : operands.uses_index ? operands.high[lane]
                                                       : operands.low[lane];
  const uint64_t offset = uint64_t{vector_offset} + static_cast<uint64_t>(instruction.offset) + displacement;
  bool inside;
  if (operands.stride != 0 && operands.uses_index) {
    inside = index < operands.records;
  } else {
    inside = offset + length <= operands.records;
    const bool inside_with_scalar = offset + operands.scalar_offset + length <= operands.records;
    if (inside != inside_with_scalar)
      wave.fail(lane, fmt::format(
                          "reaches byte {} of a buffer of {} with its scalar offset, and byte {} without: whether that "
                          "is out of range depends on the scalar offset's being counted, on which one cannot rely",
                          offset + operands.scalar_offset + length, operands.records, offset + length));
  }
  if (!inside) return {};
  const uint64_t address = operands.base + uint64_t{index} * operands.stride + offset + operands.scalar_offset;
  return {.bytes = wave.group().global_bytes(wave, lane, address, length, write, stored), .address = address};
}

Target scratch_target(Wave& wave, int lane, uint64_t address, uint32_t length, bool write) {
  auto [bytes, written] = wave.scratch(lane, address, length);
  if (!bytes)
    wave.fail(lane, fmt::format("{} {} bytes of scratch at {}, outside the lane's own", write ? "writes" : "reads",
                                length, address));
  return {.bytes = reinterpret_cast<std::byte*>(bytes), .written = written};
}

// The target of `length` bytes that begin `displacement` bytes after the lane's address; `stored` are those that a
// store is to write there.
Target find_target(Wave& wave, const Instruction& instruction, const AddressOperands& operands, int lane,
                   uint32_t length, uint32_t displacement, bool write, const void* stored = nullptr) {
  if (operands.addressing == Addressing::buffer)
    return buffer_target(wave, instruction, operands, lane, length, displacement, write, stored);
  const uint64_t vector = operands.low[lane] | uint64_t{operands.high[lane]} << 32;
  const uint64_t address = operands.base + vector + static_cast<uint64_t>(instruction.offset) + displacement;
  if (operands.addressing == Addressing::scratch)
    return scratch_target(wave, lane, address & 0xffffffff, length, write);
  if (operands.addressing == Addressing::flat && address >> 32 == shared_aperture)
    return {.in_lds = true, .lds_address = static_cast<uint32_t>(address)};
  if (operands.addressing == Addressing::flat && address >> 32 == private_aperture)
    return scratch_target(wave, lane, address & 0xffffffff, length, write);
  return {.bytes = wave.group().global_bytes(wave, lane, address, length, write, stored), .address = address};
}

void use_lds(Wave& wave, int lane, const Target& target, uint32_t length, LdsAccess access) {
  if (auto wrong = wave.group().lds.check(target.lds_address, length, access, wave.number())) wave.fail(lane, *wrong);
}

// Bytes of one lane from where they are, zeros when they are out of a buffer's range.
void read_bytes(Wave& wave, int lane, const Target& target, uint32_t length, void* out) {
  std::memset(out, 0, length);
  if (target.in_lds) {
    use_lds(wave, lane, target, length, LdsAccess::read);
    std::memcpy(out, wave.group().lds.bytes(target.lds_address), length);
  } else if (target.bytes) {
    std::memcpy(out, target.bytes, length);
  }
}

void write_bytes(Wave& wave, int lane, const Target& target, uint32_t length, const void* in) {
  if (target.in_lds) {
    use_lds(wave, lane, target, length, LdsAccess::write);
    std::memcpy(wave.group().lds.bytes(target.lds_address), in, length);
    wave.group().lds.mark_written(target.lds_address, length);
  } else if (target.bytes) {
    std::memcpy(target.bytes, in, length);
    if (target.written) std::memset(target.written, 1, length);
  }
}

// The different cache lines of an instruction; lanes mostly walk upwards. Scratch and LDS have none.
class LineCounter {
 public:
  void touch(const Target& target, uint32_t length) {
    if (target.address == 0) return;
    const uint64_t first = target.address / line_bytes, last = (target.address + length - 1) / line_bytes;
    for (uint64_t line = first; line <= last; ++line) add(line);
  }

  // Counts the lines of a load, and tells how long it takes.
  LineAccess finish_load(Wave& wave) const {
    WorkGroup& group = wave.group();
    group.counts.load_lines += count_;
    LineAccess access{.latency = load_latency(LineSource::l1),
                      .lines = static_cast<uint8_t>(count_),
                      .first_touch = static_cast<uint32_t>(group.traffic.touches().size())};
    for (size_t i = 0; i < count_; ++i) {
      const LineSource source = group.traffic.load(lines_[i], wave.clock.now());
      access.latency = std::max(access.latency, load_latency(source));
      access.misses += source != LineSource::l1;
      access.first_touches += source == LineSource::first_touch;
    }
    return access;
  }
  // Stores go through L1.
  LineAccess finish_store(Wave& wave) const {
    WorkGroup& group = wave.group();
    group.counts.store_lines += count_;
    LineAccess access{.lines = static_cast<uint8_t>(count_),
                      .misses = static_cast<uint8_t>(count_),
                      .first_touch = static_cast<uint32_t>(group.traffic.touches().size())};
    for (size_t i = 0; i < count_; ++i) access.first_touches += group.traffic.store(lines_[i], wave.clock.now());
    return access;
  }

 private:
  void add(uint64_t line) {
    for (size_t i = count_; i-- > 0;)
      if (lines_[i] == line) return;
    if (count_ < lines_.size()) lines_[count_++] = line;
  }
  std::array<uint64_t, 2 * wave_size> lines_;
  size_t count_ = 0;
};

// The conversion of a load's bytes.
struct LoadFormat {
  uint32_t bytes;
  bool sign_extend = false;
  bool half = false;       // fills one half of the register
  bool high_half = false;  // the upper one
};

// FLAT instructions count in both counters, since they may go to LDS.
uint32_t issue(Wave& wave, Addressing addressing) {
  if (addressing == Addressing::flat) wave.counters.issue(Queue::unordered);
  return wave.counters.issue(Queue::vector_memory);
}

void begin_operation(Wave& wave, Addressing addressing, const LineAccess& access) {
  wave.clock.begin_vector_memory(access);
  if (addressing == Addressing::flat) wave.clock.begin_flat(access.latency);
}

uint32_t extend(uint32_t value, const LoadFormat& format) {
  const int unused = static_cast<int>(32 - 8 * format.bytes);
  return format.sign_extend ? static_cast<uint32_t>(static_cast<int32_t>(value << unused) >> unused) : value;
}

// Straight into LDS: to M0's address, one word a lane.
[[gnu::noinline]] void load_to_lds(Wave& wave, const Instruction& instruction, Addressing addressing,
                                   const LoadFormat& format) {
  WorkGroup& group = wave.group();
  const LaneBits lanes = wave.exec();
  const AddressOperands operands = read_address_operands(wave, instruction, addressing, 0, 1, lanes);
  const uint32_t base = (wave.read_scalar(m0_register) & 0xffff) + static_cast<uint32_t>(instruction.offset);
  const uint32_t number = issue(wave, addressing);
  std::array<uint32_t, wave_size> addresses{};
  LineCounter lines;
  for (int lane = 0; lane < wave_size; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    const Target source = find_target(wave, instruction, operands, lane, format.bytes, 0, false);
    uint32_t value = 0;
    read_bytes(wave, lane, source, format.bytes, &value);
    value = extend(value, format);
    lines.touch(source, format.bytes);
    addresses[lane] = base + 4 * static_cast<uint32_t>(lane);
    write_bytes(wave, lane, {.in_lds = true, .lds_address = addresses[lane]}, 4, &value);
    group.counts.loaded_bytes += format.bytes;
  }
  group.note_lds_operation(wave, Queue::vector_memory, number, LdsAccess::write, addresses, lanes, 4);
  wave.clock.begin_vector_memory(lines.finish_load(wave));
}

// The words of one lane, and the lines that they lie in. In a buffer each word may be out of range by itself.
struct LoadedWords {
  uint32_t words[4] = {};
  bool unwritten[4] = {};  // in scratch, in which registers are kept that may never have been written
};
LoadedWords load_lane(Wave& wave, const Instruction& instruction, const AddressOperands& operands, int lane,
                      uint32_t bytes, LineCounter& lines) {
  LoadedWords loaded;
  const uint32_t step = operands.addressing == Addressing::buffer ? std::min(bytes, 4U) : bytes;
  for (uint32_t at = 0; at < bytes; at += step) {
    const Target target = find_target(wave, instruction, operands, lane, step, at, false);
    if (at == 0) wave.group().check_alignment(wave, lane, target.address, bytes, false);
    read_bytes(wave, lane, target, step, reinterpret_cast<std::byte*>(loaded.words) + at);
    lines.touch(target, step);
    if (instruction.sc1 && target.address != 0) wave.group().accesses.collect(wave.number(), target.address);
    if (!target.written) continue;
    for (uint32_t word = 0; 4 * word < bytes; ++word)
      loaded.unwritten[word] = std::memchr(target.written + 4 * word, 0, std::min(bytes, 4U)) != nullptr;
  }
  return loaded;
}

[[gnu::noinline]] void load(Wave& wave, const Instruction& instruction, Addressing addressing,
                            const LoadFormat& format) {
  const LaneBits lanes = wave.exec();
  const AddressOperands operands = read_address_operands(wave, instruction, addressing, 1, 2, lanes);
  const int words = static_cast<int>((format.bytes + 3) / 4);
  const uint32_t number = issue(wave, addressing);
  LineCounter lines;
  LaneWords values[4];
  LaneBits unwritten[4] = {};
  for (int lane = 0; lane < wave_size; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    const LoadedWords loaded = load_lane(wave, instruction, operands, lane, format.bytes, lines);
    for (int word = 0; word < words; ++word) {
      values[word][lane] = loaded.words[word];
      unwritten[word] |= LaneBits{loaded.unwritten[word]} << lane;
    }
    if (format.bytes < 4) values[0][lane] = extend(values[0][lane], format) << (format.high_half ? 16 : 0);
  }
  const uint8_t bytes = !format.half ? whole_register : format.high_half ? 0b1100 : 0b0011;
  for (int word = 0; word < words; ++word) {
    wave.write_vector_later(instruction.operands[0], word, values[word], lanes, Queue::vector_memory, number, bytes);
    if (unwritten[word]) wave.mark_unwritten(instruction.operands[0], word, unwritten[word]);
  }
  wave.group().counts.loaded_bytes += format.bytes * static_cast<uint64_t>(std::popcount(lanes));
  begin_operation(wave, addressing, lines.finish_load(wave));
}

struct StoreFormat {
  uint32_t bytes;
  bool high_half = false;
};

// Ends a store once all lanes have stored; their addresses are 0 if that was not to memory.
void end_store(Wave& wave, const Instruction& instruction, const Operand& data,
               const std::array<uint64_t, wave_size>& addresses, const StoreFormat& format, uint32_t number) {
  GroupAccesses& accesses = wave.group().accesses;
  LaneBits to_memory = 0;
  for (int lane = 0; lane < wave_size; ++lane) to_memory |= LaneBits{addresses[lane] != 0} << lane;
  if (to_memory == 0) return;
  accesses.note_store(wave, number, addresses, format.bytes);
  if (instruction.sc1)
    for (const uint64_t address : addresses)
      if (address != 0) accesses.publish(wave.number(), address);
  if (have_lanes_in_common(addresses, to_memory))
    check_common_addresses(wave, data, addresses, to_memory, format.bytes, format.high_half, "at");
}

[[gnu::noinline]] void store(Wave& wave, const Instruction& instruction, Addressing addressing,
                             const StoreFormat& format) {
  const LaneBits lanes = wave.exec();
  const bool buffer = addressing == Addressing::buffer;
  const AddressOperands operands = read_address_operands(wave, instruction, addressing, buffer ? 1 : 0, 2, lanes);
  const Operand& data = instruction.operands[buffer ? 0 : 1];
  const uint32_t word_bytes = std::min(format.bytes, 4U);
  const int words = static_cast<int>((format.bytes + 3) / 4);
  const auto byte_mask = static_cast<uint8_t>(((1U << word_bytes) - 1) << (format.high_half ? 2 : 0));
  const uint32_t number = issue(wave, addressing);
  LineCounter lines;
  std::array<uint64_t, wave_size> addresses{};
  for (int word = 0; word < words; ++word) {
    const VectorRegister& values = wave.peek_vector(data, word);
    LaneBits written = ~LaneBits{0};
    for (int byte = 0; byte < 4; ++byte)
      if (byte_mask >> byte & 1) written &= values.written[byte];
    for (int lane = 0; lane < wave_size; ++lane) {
      if (!(lanes >> lane & 1)) continue;
      const uint32_t value = format.high_half ? values.lanes[lane] >> 16 : values.lanes[lane];
      const Target target =
          find_target(wave, instruction, operands, lane, word_bytes, 4 * static_cast<uint32_t>(word), true, &value);
      if (word == 0) {
        addresses[lane] = target.address;
        wave.group().check_alignment(wave, lane, target.address, format.bytes, true);
      }
      // Registers may be kept in scratch whether they were written or not; elsewhere this is a fault.
      const bool is_written = written >> lane & 1;
      if (!is_written && !target.written) wave.read_vector(data, word, LaneBits{1} << lane, byte_mask);
      write_bytes(wave, lane, target, word_bytes, &value);
      if (!is_written) std::memset(target.written, 0, word_bytes);
      lines.touch(target, word_bytes);
    }
  }
  end_store(wave, instruction, data, addresses, format, number);
  wave.group().counts.stored_bytes += format.bytes * static_cast<uint64_t>(std::popcount(lanes));
  begin_operation(wave, addressing, lines.finish_store(wave));
}

template <class Bits>
Bits join(const LaneWords& low, const LaneWords& high, int lane) {
  if constexpr (sizeof(Bits) == 8)
    return low[lane] | uint64_t{high[lane]} << 32;
  else
    return low[lane];
}

// noinline, as of load and store: every row would get a copy of its own.
template <class Bits>
[[gnu::noinline]] void atomic_operation(Wave& wave, const Instruction& instruction, Addressing addressing,
                                        const AtomicRow<Bits>& row) {
  const LaneBits lanes = wave.exec();
  const bool buffer = addressing == Addressing::buffer, returns = instruction.sc0;
  const size_t address_position = buffer || returns ? 1 : 0;
  const Operand& data = instruction.operands[buffer ? 0 : address_position + 1];
  const AddressOperands operands =
      read_address_operands(wave, instruction, addressing, address_position, address_position + 2, lanes);
  constexpr int words = sizeof(Bits) / 4;
  LaneWords operand_words[2] = {}, compared_words[2] = {}, old_words[2] = {};
  for (int word = 0; word < words; ++word) {
    operand_words[word] = wave.read_vector(data, word, lanes);
    if (row.compares) compared_words[word] = wave.read_vector(data, words + word, lanes);
  }
  const uint32_t number = issue(wave, addressing);
  LineCounter lines;
  GroupAccesses& accesses = wave.group().accesses;
  std::array<uint64_t, wave_size> addresses{};
  for (int lane = 0; lane < wave_size; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    const Target target = find_target(wave, instruction, operands, lane, sizeof(Bits), 0, true);
    addresses[lane] = target.address;
    if (target.address != 0) accesses.publish(wave.number(), target.address);
    if (target.address != 0 && returns) accesses.collect(wave.number(), target.address);
    const Bits operand = join<Bits>(operand_words[0], operand_words[1], lane);
    const Bits compared = join<Bits>(compared_words[0], compared_words[1], lane);
    Bits old = 0;
    if (target.in_lds) {
      use_lds(wave, lane, target, sizeof(Bits), LdsAccess::atomic);
      uint8_t* bytes = wave.group().lds.bytes(target.lds_address);
      std::memcpy(&old, bytes, sizeof old);
      const Bits changed = row.function(old, operand, compared);
      std::memcpy(bytes, &changed, sizeof changed);
    } else if (target.bytes) {
      if (reinterpret_cast<uint64_t>(target.bytes) % sizeof(Bits) != 0)
        wave.fail(lane, fmt::format("is an atomic at an address that is not a multiple of {}", sizeof(Bits)));
      std::atomic_ref<Bits> memory(*reinterpret_cast<Bits*>(target.bytes));
      old = memory.load();
      while (!memory.compare_exchange_weak(old, row.function(old, operand, compared))) {
      }
    }
    lines.touch(target, sizeof(Bits));
    old_words[0][lane] = static_cast<uint32_t>(old);
    if constexpr (words == 2) old_words[1][lane] = static_cast<uint32_t>(old >> 32);
  }
  accesses.note_store(wave, number, addresses, sizeof(Bits));
  wave.group().counts.stored_bytes += sizeof(Bits) * static_cast<uint64_t>(std::popcount(lanes));
  LineAccess access = lines.finish_store(wave);
  if (returns) access.latency = load_latency(LineSource::l2);
  begin_operation(wave, addressing, access);
  if (returns)
    for (int word = 0; word < words; ++word)
      wave.write_vector_later(instruction.operands[0], word, old_words[word], lanes, Queue::vector_memory, number);
}

constexpr const char* prefix_of(Addressing addressing) {
  switch (addressing) {
    case Addressing::global:
      return "global_";
    case Addressing::flat:
      return "flat_";
    case Addressing::scratch:
      return "scratch_";
    case Addressing::buffer:
      return "buffer_";
  }
  return "";
}

template <Addressing addressing, LoadFormat format>
void add_load(Operations& rows, const std::string& suffix) {
  const std::string prefix = prefix_of(addressing);
  add_row(rows, prefix + "load_" + suffix, Unit::vector_memory, [](Wave& wave, const Instruction& instruction) {
    if (instruction.to_lds)
      load_to_lds(wave, instruction, addressing, format);
    else
      load(wave, instruction, addressing, format);
  });
  if (addressing == Addressing::global && format.bytes <= 4 && !format.half)
    add_row(rows, prefix + "load_lds_" + suffix, Unit::vector_memory,
            [](Wave& wave, const Instruction& instruction) { load_to_lds(wave, instruction, addressing, format); });
}

template <Addressing addressing, StoreFormat format>
void add_store(Operations& rows, const std::string& suffix) {
  add_row(rows, prefix_of(addressing) + ("store_" + suffix), Unit::vector_memory,
          [](Wave& wave, const Instruction& instruction) { store(wave, instruction, addressing, format); });
}

template <Addressing addressing, class Bits, AtomicFunction<Bits> function, bool compares = false>
void add_atomic(Operations& rows, const std::string& suffix) {
  add_row(rows, prefix_of(addressing) + ("atomic_" + suffix), Unit::vector_memory,
          [](Wave& wave, const Instruction& instruction) {
            atomic_operation<Bits>(wave, instruction, addressing, {"", function, compares});
          });
}

template <Addressing addressing, class Unsigned>
void add_integer_atomics(Operations& rows, const std::string& end) {
  using Signed = std::make_signed_t<Unsigned>;
  namespace a = atomic;
  add_atomic<addressing, Unsigned, atomic_of<Unsigned, Unsigned, a::add<Unsigned>>>(rows, "add" + end);
  add_atomic<addressing, Unsigned, atomic_of<Unsigned, Unsigned, a::subtract<Unsigned>>>(rows, "sub" + end);
  add_atomic<addressing, Unsigned, atomic_of<Unsigned, Unsigned, a::bit_and<Unsigned>>>(rows, "and" + end);
  add_atomic<addressing, Unsigned, atomic_of<Unsigned, Unsigned, a::bit_or<Unsigned>>>(rows, "or" + end);
  add_atomic<addressing, Unsigned, atomic_of<Unsigned, Unsigned, a::bit_xor<Unsigned>>>(rows, "xor" + end);
  add_atomic<addressing, Unsigned, atomic_of<Unsigned, Unsigned, a::exchange<Unsigned>>>(rows, "swap" + end);
  add_atomic<addressing, Unsigned, atomic_of<Unsigned, Unsigned, a::least<Unsigned>>>(rows, "umin" + end);
  add_atomic<addressing, Unsigned, atomic_of<Unsigned, Unsigned, a::greatest<Unsigned>>>(rows, "umax" + end);
  add_atomic<addressing, Unsigned, atomic_of<Unsigned, Signed, a::least<Signed>>>(rows, "smin" + end);
  add_atomic<addressing, Unsigned, atomic_of<Unsigned, Signed, a::greatest<Signed>>>(rows, "smax" + end);
  add_atomic<addressing, Unsigned, atomic_of<Unsigned, Unsigned, a::wrapping_increment<Unsigned>>>(rows, "inc" + end);
  add_atomic<addressing, Unsigned, atomic_of<Unsigned, Unsigned, a::wrapping_decrement<Unsigned>>>(rows, "dec" + end);
  add_atomic<addressing, Unsigned, a::compare_exchange<Unsigned>, true>(rows, "cmpswap" + end);
}

template <Addressing addressing>
void add_atomics(Operations& rows) {
  using u32 = uint32_t;
  using u64 = uint64_t;
  add_integer_atomics<addressing, u32>(rows, "");
  add_integer_atomics<addressing, u64>(rows, "_x2");
  add_atomic<addressing, u32, atomic_of<u32, float, atomic::add<float>>>(rows, "add_f32");
  add_atomic<addressing, u64, atomic_of<u64, double, atomic::add<double>>>(rows, "add_f64");
  add_atomic<addressing, u64, atomic_of<u64, double, atomic::least<double>>>(rows, "min_f64");
  add_atomic<addressing, u64, atomic_of<u64, double, atomic::greatest<double>>>(rows, "max_f64");
  add_atomic<addressing, u32, atomic_of<u32, u32, atomic::add_half_pair>>(rows, "pk_add_f16");
  if constexpr (addressing != Addressing::buffer)
    add_atomic<addressing, u32, atomic_of<u32, u32, atomic::add_bfloat16_pair>>(rows, "pk_add_bf16");
}

template <Addressing addressing>
void add_loads_and_stores(Operations& rows) {
  add_load<addressing, LoadFormat{1}>(rows, "ubyte");
  add_load<addressing, LoadFormat{1, true}>(rows, "sbyte");
  add_load<addressing, LoadFormat{2}>(rows, "ushort");
  add_load<addressing, LoadFormat{2, true}>(rows, "sshort");
  add_load<addressing, LoadFormat{4}>(rows, "dword");
  add_load<addressing, LoadFormat{8}>(rows, "dwordx2");
  add_load<addressing, LoadFormat{12}>(rows, "dwordx3");
  add_load<addressing, LoadFormat{16}>(rows, "dwordx4");
  add_load<addressing, LoadFormat{1, false, true}>(rows, "ubyte_d16");
  add_load<addressing, LoadFormat{1, false, true, true}>(rows, "ubyte_d16_hi");
  add_load<addressing, LoadFormat{1, true, true}>(rows, "sbyte_d16");
  add_load<addressing, LoadFormat{1, true, true, true}>(rows, "sbyte_d16_hi");
  add_load<addressing, LoadFormat{2, false, true}>(rows, "short_d16");
  add_load<addressing, LoadFormat{2, false, true, true}>(rows, "short_d16_hi");
  add_store<addressing, StoreFormat{1}>(rows, "byte");
  add_store<addressing, StoreFormat{1, true}>(rows, "byte_d16_hi");
  add_store<addressing, StoreFormat{2}>(rows, "short");
  add_store<addressing, StoreFormat{2, true}>(rows, "short_d16_hi");
  add_store<addressing, StoreFormat{4}>(rows, "dword");
  add_store<addressing, StoreFormat{8}>(rows, "dwordx2");
  add_store<addressing, StoreFormat{12}>(rows, "dwordx3");
  add_store<addressing, StoreFormat{16}>(rows, "dwordx4");
}

}  // namespace

void add_vector_memory_operations(Operations& rows) {
  add_loads_and_stores<Addressing::global>(rows);
  add_loads_and_stores<Addressing::flat>(rows);
  add_loads_and_stores<Addressing::scratch>(rows);
  add_loads_and_stores<Addressing::buffer>(rows);
  add_atomics<Addressing::global>(rows);
  add_atomics<Addressing::flat>(rows);
  add_atomics<Addressing::buffer>(rows);
}

}  // namespace gfx942sim
