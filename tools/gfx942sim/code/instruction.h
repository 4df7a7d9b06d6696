// One decoded instruction: what the disassembler prints, with its operands typed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gfx942sim {

class Wave;
struct Instruction;

// How the bits of an operand are read; it decides what an inline constant such as 1.0 means.
enum class Type : uint8_t {
  none,
  u16,
  i16,
  f16,
  u32,
  i32,
  f32,
  u64,
  i64,
  f64,
  lane_mask,
  packed_f16,
  packed_i16,
  packed_f32
};

// The part of the hardware that an instruction occupies.
enum class Unit : uint8_t { scalar, vector, transcendental, matrix, scalar_memory, vector_memory, lds, control };
inline constexpr int unit_count = 8;

// The meaning of a mnemonic.
struct Operation {
  std::string name;  // without the suffix of its encoding (_e32, _e64, _sdwa, _dpp)
  Unit unit = Unit::vector;
  void (*execute)(Wave&, const Instruction&) = nullptr;
  std::vector<Type> types;       // of the operands in the order of the text, destinations first
  int cycles = 4;                // that it keeps its unit busy, on one SIMD
  int64_t flops = 0;             // of one execution, for matrix instructions
  bool excludes_vector = false;  // a matrix instruction beside which the vector unit stands still
  bool is_atomic = false;        // on memory
};

// Scalar registers by their encoding.
inline constexpr int flat_scratch_register = 102;
inline constexpr int vcc_register = 106;
inline constexpr int trap_temporary_register = 108;
inline constexpr int m0_register = 124;
inline constexpr int exec_register = 126;
inline constexpr int scalar_register_count = 128;

// The upper halves of the addresses by which FLAT instructions reach LDS and scratch: outside what a process can map.
inline constexpr uint32_t shared_aperture = 0x00010000;
inline constexpr uint32_t private_aperture = 0x00020000;

enum class OperandKind : uint8_t { none, vector, accumulator, scalar, scc, constant, off };

struct Operand {
  OperandKind kind = OperandKind::none;
  int index = 0;      // of the first register
  int registers = 1;  // how many
  bool negate = false;
  bool absolute = false;
  bool sign_extend = false;  // SDWA's sext()
  uint64_t bits = 0;         // of a constant, in the operand's type
};

enum class SubDword : uint8_t { dword, byte0, byte1, byte2, byte3, word0, word1 };
enum class UnusedBits : uint8_t { pad, sign_extend, preserve };

// SDWA: operands that are a byte or a half of a register.
struct SubDwordSelection {
  bool used = false;
  SubDword destination = SubDword::dword;
  UnusedBits unused = UnusedBits::pad;
  SubDword sources[2] = {SubDword::dword, SubDword::dword};
};

enum class DppKind : uint8_t {
  none,
  quad_perm,
  row_shl,
  row_shr,
  row_ror,
  wave_shl,
  wave_rol,
  wave_shr,
  wave_ror,
  row_mirror,
  row_half_mirror,
  row_bcast,
  row_newbcast
};

// DPP: source 0 comes from another lane.
struct DataParallelPrimitive {
  DppKind kind = DppKind::none;
  int amount = 0;
  int quad[4] = {};
  int row_mask = 0xf;
  int bank_mask = 0xf;
  bool bound_control = false;  // lanes without a source read zero, and are not left alone
};

// Registers of all kinds in one numbering: scalars by their encoding, SCC, then vectors and accumulators.
inline constexpr int scc_number = scalar_register_count;
inline constexpr int first_vector_number = 256;
inline constexpr int first_accumulator_number = 512;
inline constexpr int register_number_count = 768;

// A run of registers that an instruction reads or writes.
struct RegisterUse {
  int first = 0;
  int count = 0;
  int position = -1;  // of the operand in the instruction's encoding; -1: not written in the text
  bool is_vector() const { return first >= first_vector_number; }
  bool overlaps(const RegisterUse& other) const {
    return first < other.first + other.count && other.first < first + count;
  }
};

struct Instruction {
  const Operation* operation = nullptr;  // null: not known to the simulator
  std::string text;
  uint64_t address = 0;
  int size = 4;  // bytes
  std::vector<Operand> operands;
  std::vector<RegisterUse> reads, writes;

  // Modifiers, as they are written after the operands.
  bool clamp = false;
  float output_scale = 1;  // mul:2, mul:4, div:2
  uint8_t op_sel = 0;
  uint8_t op_sel_hi = 0;
  uint8_t neg_lo = 0;
  uint8_t neg_hi = 0;
  SubDwordSelection sdwa;
  DataParallelPrimitive dpp;
  int64_t offset = 0;
  int offset0 = 0, offset1 = 0;
  bool sc0 = false;  // an atomic returns the value before
  bool sc1 = false;  // seen by other work groups, as an atomic access is
  bool offset_enabled = false, index_enabled = false, to_lds = false;
  int vmcnt = -1, lgkmcnt = -1;  // s_waitcnt; -1: not waited for
  int nop_states = 0;            // s_nop: wait states beyond one
  uint8_t indexed_operands = 0;  // s_set_gpr_idx_on
  int cbsz = 0, abid = 0, blgp = 0;
  int hardware_register = -1, hardware_offset = 0, hardware_size = 32;
  std::vector<int> swizzle_arguments;
  std::string swizzle_mode;
};

}  // namespace gfx942sim
