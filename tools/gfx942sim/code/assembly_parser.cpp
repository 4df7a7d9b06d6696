#include "gfx942sim/code/assembly_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "gfx942sim/operations/operation_table.h"

namespace gfx942sim {
namespace {

[[noreturn]] void not_understood(std::string_view text) {
  throw std::invalid_argument(fmt::format("'{}' is not understood", text));
}

bool consume_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<int64_t> to_integer(std::string_view text) {
  bool negative = consume_prefix(text, "-");
  int base = consume_prefix(text, "0x") ? 16 : 10;
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
}

int64_t require_integer(std::string_view text) {
  auto value = to_integer(text);
  if (!value) not_understood(text);
  return *value;
}

// The parts of "a,b,c"; brackets and parentheses hold together what is between them.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '[' || text[i] == '(')) ++depth;
    if (i < text.size() && (text[i] == ']' || text[i] == ')')) --depth;
    if (i < text.size() && (text[i] != separator || depth > 0)) continue;
    std::string_view part = text.substr(begin, i - begin);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

// The integers of "[1,0,3]".
std::vector<int> integer_list(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) not_understood(text);
  std::vector<int> values;
  for (std::string_view part : split(text.substr(1, text.size() - 2), ','))
    values.push_back(static_cast<int>(require_integer(part)));
  return values;
}

uint8_t bit_list(std::string_view text) {
  uint8_t bits = 0;
  int position = 0;
  for (int value : integer_list(text)) bits |= static_cast<uint8_t>(value << position++);
  return bits;
}

// "v7", "a[0:15]", "s[4:5]", "ttmp3".
std::optional<Operand> to_numbered_register(std::string_view text) {
  Operand operand;
  if (consume_prefix(text, "ttmp")) {
    operand.kind = OperandKind::scalar;
    operand.index = trap_temporary_register;
  } else if (text.starts_with('v') || text.starts_with('a') || text.starts_with('s')) {
    operand.kind = text[0] == 'v'   ? OperandKind::vector
                   : text[0] == 'a' ? OperandKind::accumulator
                                    : OperandKind::scalar;
    text.remove_prefix(1);
  } else {
    return std::nullopt;
  }
  if (text.starts_with('[') && text.ends_with(']')) {
    text = text.substr(1, text.size() - 2);
    size_t colon = text.find(':');
    auto first = to_integer(text.substr(0, colon));
    auto last = colon == std::string_view::npos ? first : to_integer(text.substr(colon + 1));
    if (!first || !last) return std::nullopt;
    operand.index += static_cast<int>(*first);
    operand.registers = static_cast<int>(*last - *first + 1);
    return operand;
  }
  auto index = to_integer(text);
  if (!index) return std::nullopt;
  operand.index += static_cast<int>(*index);
  return operand;
}

std::optional<Operand> to_named_register(std::string_view text) {
  struct Name {
    std::string_view name;
    int index, registers;
  };
  static constexpr Name names[] = {
      {"vcc", vcc_register, 2},
      {"vcc_lo", vcc_register, 1},
      {"vcc_hi", vcc_register + 1, 1},
      {"exec", exec_register, 2},
      {"exec_lo", exec_register, 1},
      {"exec_hi", exec_register + 1, 1},
      {"m0", m0_register, 1},
      {"flat_scratch", flat_scratch_register, 2},
      {"flat_scratch_lo", flat_scratch_register, 1},
      {"flat_scratch_hi", flat_scratch_register + 1, 1},
  };
  for (const Name& name : names)
    if (name.name == text)
      return Operand{.kind = OperandKind::scalar, .index = name.index, .registers = name.registers};
  if (text == "src_scc" || text == "scc") return Operand{.kind = OperandKind::scc};
  if (text == "off") return Operand{.kind = OperandKind::off};
  return std::nullopt;
}

uint64_t float_constant_bits(double value, Type type) {
  switch (type) {
    case Type::f16:
    case Type::packed_f16:
      return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
    case Type::f64:
    case Type::i64:
    case Type::u64:
      return std::bit_cast<uint64_t>(value);
    default:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
  }
}

// Integers are written in decimal when they are inline constants and in hexadecimal when they are 32-bit literals; the
// hardware widens both to the operand's type.
uint64_t integer_constant_bits(int64_t value, bool literal, Type type) {
  if (literal && type == Type::f64) return static_cast<uint64_t>(value) << 32;
  if (literal && type == Type::i64) return static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)});
  bool wide = type == Type::f64 || type == Type::i64 || type == Type::u64 || type == Type::lane_mask;
  return wide ? static_cast<uint64_t>(value) : static_cast<uint32_t>(value);
}

std::optional<Operand> to_constant(std::string_view text, Type type) {
  Operand operand{.kind = OperandKind::constant};
  if (text == "src_shared_base" || text == "src_private_base") {
    // The upper halves of the addresses of LDS and scratch, as FLAT instructions see them.
    operand.bits = uint64_t{text == "src_shared_base" ? shared_aperture : private_aperture} << 32;
    return operand;
  }
  if (auto value = to_integer(text)) {
    bool literal = text.starts_with("0x");
    operand.bits = integer_constant_bits(*value, literal, type);
    return operand;
  }
  const std::string copy(text);
  char* end = nullptr;
  double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0') return std::nullopt;
  // 1/(2 pi) is the one inline constant that is not exact in text.
  if (text.starts_with("0.159154")) value = 0.15915494309189532;
  operand.bits = float_constant_bits(value, type);
  return operand;
}

std::optional<Operand> to_operand(std::string_view text, Type type) {
  bool negate = false, absolute = false, sign_extend = false;
  auto unwrap = [&](std::string_view prefix, char suffix) {
    if (!text.starts_with(prefix) || !text.ends_with(suffix) || text.size() <= prefix.size()) return false;
    text = text.substr(prefix.size(), text.size() - prefix.size() - 1);
    return true;
  };
  if (unwrap("neg(", ')')) negate = true;
  if (text.size() > 1 && text[0] == '-' && (text[1] < '0' || text[1] > '9')) {
    negate = true;
    text.remove_prefix(1);
  }
  if (unwrap("|", '|') || unwrap("abs(", ')')) absolute = true;
  if (unwrap("sext(", ')')) sign_extend = true;
  auto operand = to_named_register(text);
  if (!operand) operand = to_numbered_register(text);
  if (!operand) operand = to_constant(text, type);
  if (!operand) return std::nullopt;
  operand->negate = negate;
  operand->absolute = absolute;
  operand->sign_extend = sign_extend;
  return operand;
}

SubDword to_sub_dword(std::string_view text) {
  static constexpr std::string_view names[] = {"DWORD", "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (names[i] == text) return static_cast<SubDword>(i);
  not_understood(text);
}

// "SRC0,DST".
uint8_t indexed_operands(std::string_view text) {
  static constexpr std::string_view names[] = {"SRC0", "SRC1", "SRC2", "DST"};
  uint8_t bits = 0;
  for (std::string_view part : split(text, ',')) {
    const auto found = std::find(std::begin(names), std::end(names), part);
    if (found == std::end(names)) not_understood(text);
    bits |= static_cast<uint8_t>(1 << (found - std::begin(names)));
  }
  return bits;
}

void set_hardware_register(Instruction& instruction, std::string_view arguments) {
  auto parts = split(arguments, ',');
  if (parts.empty() || parts[0] != "HW_REG_MODE") not_understood(arguments);
  instruction.hardware_register = 1;
  if (parts.size() == 3) {
    instruction.hardware_offset = static_cast<int>(require_integer(parts[1]));
    instruction.hardware_size = static_cast<int>(require_integer(parts[2]));
  }
}

// ds_swizzle_b32's "swizzle(MODE, ...)".
void set_swizzle(Instruction& instruction, std::string_view arguments) {
  auto parts = split(arguments, ',');
  if (parts.empty()) not_understood(arguments);
  instruction.swizzle_mode = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    // BITMASK_PERM has its mask as a string of five letters.
    std::string_view part = parts[i];
    if (part.starts_with('"')) {
      instruction.swizzle_mode += part;
      continue;
    }
    instruction.swizzle_arguments.push_back(static_cast<int>(require_integer(part)));
  }
}

bool set_dpp(DataParallelPrimitive& dpp, std::string_view name, std::string_view value) {
  static const std::unordered_map<std::string_view, DppKind> kinds = {
      {"row_shl", DppKind::row_shl},           {"row_shr", DppKind::row_shr},
      {"row_ror", DppKind::row_ror},           {"wave_shl", DppKind::wave_shl},
      {"wave_rol", DppKind::wave_rol},         {"wave_shr", DppKind::wave_shr},
      {"wave_ror", DppKind::wave_ror},         {"row_mirror", DppKind::row_mirror},
      {"row_bcast", DppKind::row_bcast},       {"row_half_mirror", DppKind::row_half_mirror},
      {"row_newbcast", DppKind::row_newbcast},
  };
  if (name == "quad_perm") {
    auto lanes = integer_list(value);
    if (lanes.size() != 4) not_understood(value);
    dpp.kind = DppKind::quad_perm;
    for (int i = 0; i < 4; ++i) dpp.quad[i] = lanes[i];
  } else if (auto kind = kinds.find(name); kind != kinds.end()) {
    dpp.kind = kind->second;
    dpp.amount = value.empty() ? 0 : static_cast<int>(require_integer(value));
  } else if (name == "row_mask") {
    dpp.row_mask = static_cast<int>(require_integer(value));
  } else if (name == "bank_mask") {
    dpp.bank_mask = static_cast<int>(require_integer(value));
  } else if (name == "bound_ctrl") {
    dpp.bound_control = true;
  } else {
    return false;
  }
  return true;
}

bool set_sdwa(SubDwordSelection& sdwa, std::string_view name, std::string_view value) {
  if (name == "dst_sel") {
    sdwa.destination = to_sub_dword(value);
  } else if (name == "src0_sel") {
    sdwa.sources[0] = to_sub_dword(value);
  } else if (name == "src1_sel") {
    sdwa.sources[1] = to_sub_dword(value);
  } else if (name == "dst_unused") {
    sdwa.unused = value == "UNUSED_PAD"        ? UnusedBits::pad
                  : value == "UNUSED_SEXT"     ? UnusedBits::sign_extend
                  : value == "UNUSED_PRESERVE" ? UnusedBits::preserve
                                               : (not_understood(value), UnusedBits::pad);
  } else {
    return false;
  }
  sdwa.used = true;
  return true;
}

struct Modifier {
  std::string_view name;
  void (*set)(Instruction&, std::string_view value);
};

void ignore_modifier(Instruction& /*instruction*/, std::string_view /*value*/) {}

template <auto member>
void set_flag(Instruction& instruction, std::string_view /*value*/) {
  instruction.*member = true;
}

template <auto member>
void set_integer(Instruction& instruction, std::string_view value) {
  instruction.*member = static_cast<int>(require_integer(value));
}

template <auto member>
void set_bits(Instruction& instruction, std::string_view value) {
  instruction.*member = bit_list(value);
}

void set_offset(Instruction& instruction, std::string_view value) {
  if (value.starts_with("swizzle("))
    set_swizzle(instruction, value.substr(8, value.size() - 9));
  else
    instruction.offset = require_integer(value);
}

constexpr Modifier modifiers[] = {
    // Caching hints and priorities change no result, and nothing of gfx942's compute kernels counts in expcnt.
    {"nt", ignore_modifier},
    {"gds", ignore_modifier},
    {"expcnt", ignore_modifier},
    {"clamp", set_flag<&Instruction::clamp>},
    {"mul", [](Instruction& instruction,
               std::string_view value) { instruction.output_scale = static_cast<float>(require_integer(value)); }},
    {"div",
     [](Instruction& instruction, std::string_view value) {
       instruction.output_scale = 1.0F / static_cast<float>(require_integer(value));
     }},
    {"op_sel", set_bits<&Instruction::op_sel>},
    {"op_sel_hi", set_bits<&Instruction::op_sel_hi>},
    {"neg", set_bits<&Instruction::neg_lo>},
    {"neg_lo", set_bits<&Instruction::neg_lo>},
    {"neg_hi", set_bits<&Instruction::neg_hi>},
    {"offset", set_offset},
    {"offset0", set_integer<&Instruction::offset0>},
    {"offset1", set_integer<&Instruction::offset1>},
    {"sc0", set_flag<&Instruction::sc0>},
    {"sc1", set_flag<&Instruction::sc1>},
    {"offen", set_flag<&Instruction::offset_enabled>},
    {"idxen", set_flag<&Instruction::index_enabled>},
    {"lds", set_flag<&Instruction::to_lds>},
    {"vmcnt", set_integer<&Instruction::vmcnt>},
    {"lgkmcnt", set_integer<&Instruction::lgkmcnt>},
    {"cbsz", set_integer<&Instruction::cbsz>},
    {"abid", set_integer<&Instruction::abid>},
    {"blgp", set_integer<&Instruction::blgp>},
    {"gpr_idx",
     [](Instruction& instruction, std::string_view value) { instruction.indexed_operands = indexed_operands(value); }},
    {"hwreg", set_hardware_register},
};

// "name:value", "name(value)" and "name".
void set_modifier(Instruction& instruction, std::string_view text) {
  const size_t end = text.find_first_of(":(");
  const std::string_view name = text.substr(0, end);
  std::string_view value;
  if (end != std::string_view::npos) {
    value = text.substr(end + 1);
    if (text[end] == '(') value.remove_suffix(1);
  }
  const auto found = std::ranges::find(modifiers, name, &Modifier::name);
  if (found != std::end(modifiers))
    found->set(instruction, value);
  else if (!set_dpp(instruction.dpp, name, value) && !set_sdwa(instruction.sdwa, name, value))
    not_understood(text);
}

std::string_view without_encoding(std::string_view mnemonic) {
  for (std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp"})
    if (mnemonic.ends_with(suffix)) return mnemonic.substr(0, mnemonic.size() - suffix.size());
  return mnemonic;
}

bool is_packed(const Operation& operation) {
  return operation.name.starts_with("v_pk_") || operation.name.starts_with("v_dot");
}

}  // namespace

Instruction parse_instruction(std::string_view text) {
  Instruction instruction;
  instruction.text = text;
  size_t space = text.find(' ');
  const std::string_view mnemonic = text.substr(0, space);
  instruction.operation = find_operation(without_encoding(mnemonic));
  if (!instruction.operation || space == std::string_view::npos) return instruction;
  if (is_packed(*instruction.operation)) instruction.op_sel_hi = 0b111;

  const std::vector<Type>& types = instruction.operation->types;
  for (std::string_view part : split(text.substr(space), ',')) {
    bool first = true;
    for (std::string_view word : split(part, ' ')) {
      const size_t position = instruction.operands.size();
      auto operand = first ? to_operand(word, position < types.size() ? types[position] : Type::u32) : std::nullopt;
      if (operand)
        instruction.operands.push_back(*operand);
      else
        set_modifier(instruction, word);
      first = false;
    }
  }
  if (instruction.operation->name == "s_nop" && !instruction.operands.empty())
    instruction.nop_states = static_cast<int>(instruction.operands[0].bits);
  return instruction;
}

}  // namespace gfx942sim
