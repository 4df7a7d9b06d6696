#include "gfx942sim/wave/hazards.h"

#include <fmt/format.h>

#include <algorithm>

namespace gfx942sim {
namespace {

using Uses = std::vector<RegisterUse>;

// --- what instructions are
// ---------------------------------------------------------------------------------------------

bool is_matrix(const Instruction& i) { return i.operation->unit == Unit::matrix; }
bool is_transcendental(const Instruction& i) { return i.operation->unit == Unit::transcendental; }
// The vector unit without the matrix core.
bool is_vector(const Instruction& i) { return i.operation->unit == Unit::vector || is_transcendental(i); }
bool is_vector_memory(const Instruction& i) { return i.operation->unit == Unit::vector_memory; }
bool is_memory(const Instruction& i) { return is_vector_memory(i) || i.operation->unit == Unit::lds; }
bool has_name(const Instruction& i, std::string_view begin) { return i.operation->name.starts_with(begin); }
bool is_dot(const Instruction& i) { return has_name(i, "v_dot"); }
bool is_lane_read(const Instruction& i) { return has_name(i, "v_readlane") || has_name(i, "v_readfirstlane"); }
bool is_lane_access(const Instruction& i) { return is_lane_read(i) || has_name(i, "v_writelane"); }
bool is_double_matrix(const Instruction& i) { return is_matrix(i) && has_name(i, "v_mfma_f64"); }
// All matrix instructions but those on float32 and float64 run on the faster path that AMD calls XDL.
bool is_narrow_matrix(const Instruction& i) {
  const std::string& name = i.operation->name;
  return is_matrix(i) && !is_double_matrix(i) && (!name.ends_with("_f32") || name.ends_with("_xf32"));
}
int passes(const Instruction& i) { return i.operation->cycles / 4; }
bool shifts_its_result(const Instruction& i) {
  if (!is_vector(i)) return false;
  if (i.sdwa.used) return i.sdwa.destination != SubDword::dword;
  const bool is_packed = has_name(i, "v_pk_") || has_name(i, "v_fma_mix") || is_dot(i);
  return !is_packed && !i.operands.empty() && (i.op_sel >> (i.operands.size() - 1) & 1);
}

// --- which registers they share
// ----------------------------------------------------------------------------------------

template <class Condition>
bool share(const Uses& first, const Uses& second, Condition condition) {
  for (const RegisterUse& use : first)
    for (const RegisterUse& other : second)
      if (use.overlaps(other) && condition(use, other)) return true;
  return false;
}
bool share_vectors(const Uses& first, const Uses& second) {
  return share(first, second, [](const RegisterUse& use, const RegisterUse&) { return use.is_vector(); });
}
bool touches(const Uses& uses, int number, int count) {
  const RegisterUse wanted{number, count};
  return std::any_of(uses.begin(), uses.end(), [&](const RegisterUse& use) { return use.overlaps(wanted); });
}
bool writes_exec(const Instruction& i) { return is_vector(i) && touches(i.writes, exec_register, 2); }
bool writes_vcc(const Instruction& i) { return is_vector(i) && touches(i.writes, vcc_register, 2); }

// A scalar register that an instruction names, or VCC; every vector instruction reads EXEC, which hardware looks after.
bool share_scalars(const Instruction& earlier, const Instruction& later) {
  return share(earlier.writes, later.reads, [](const RegisterUse&, const RegisterUse& read) {
    if (read.is_vector() || read.first == scc_number) return false;
    return read.position >= 0 || read.first == vcc_register;
  });
}

// --- the rules
// --------------------------------------------------------------------------------------------------------- Each gives
// the wait states between an earlier and a later instruction, 0 if it does not apply.

using Rule = int (*)(const Instruction& earlier, const Instruction& later);
struct NamedRule {
  const char* text;
  Rule states;
};

constexpr NamedRule scalar_rules[] = {
    {"a vector instruction writes a scalar register that a vector memory instruction reads",
     [](const Instruction& e, const Instruction& l) {
       return is_vector(e) && is_vector_memory(l) && share_scalars(e, l) ? 5 : 0;
     }},
    {"a vector instruction writes the scalar register that selects a lane",
     [](const Instruction& e, const Instruction& l) {
       if (!is_vector(e) || !is_lane_access(l)) return 0;
       constexpr int selector_position = 2;
       return share(e.writes, l.reads,
                    [](const RegisterUse& use, const RegisterUse& read) {
                      return !use.is_vector() && read.position == selector_position;
                    })
                  ? 4
                  : 0;
     }},
    {"a vector instruction writes VCC that v_div_fmas reads",
     [](const Instruction& e, const Instruction& l) { return writes_vcc(e) && has_name(l, "v_div_fmas") ? 4 : 0; }},
    {"a vector instruction writes a scalar register that a vector instruction reads",
     [](const Instruction& e, const Instruction& l) {
       return is_vector(e) && (is_vector(l) || is_matrix(l)) && share_scalars(e, l) ? 2 : 0;
     }},
    {"a vector instruction writes EXEC before a DPP instruction",
     [](const Instruction& e, const Instruction& l) {
       return writes_exec(e) && is_vector(l) && l.dpp.kind != DppKind::none ? 5 : 0;
     }},
    {"a vector instruction writes EXEC before a lane is read or written",
     [](const Instruction& e, const Instruction& l) { return writes_exec(e) && is_lane_access(l) ? 4 : 0; }},
    {"a vector instruction writes EXEC before a matrix instruction",
     [](const Instruction& e, const Instruction& l) { return writes_exec(e) && is_matrix(l) ? 4 : 0; }},
    {"a scalar instruction writes M0 that a load into LDS or a message reads",
     [](const Instruction& e, const Instruction& l) {
       const bool reads_m0 =
           (is_vector_memory(l) && (l.to_lds || has_name(l, "global_load_lds"))) || has_name(l, "s_sendmsg");
       return e.operation->unit == Unit::scalar && reads_m0 && touches(e.writes, m0_register, 1) ? 1 : 0;
     }},
    {"s_setreg before an access to the same hardware register",
     [](const Instruction& e, const Instruction& l) {
       const bool accesses = has_name(l, "s_setreg") || has_name(l, "s_getreg");
       return has_name(e, "s_setreg") && accesses && e.hardware_register == l.hardware_register ? 2 : 0;
     }},
};

constexpr NamedRule vector_rules[] = {
    {"a vector register is written before a DPP instruction reads it",
     [](const Instruction& e, const Instruction& l) {
       return is_vector(e) && is_vector(l) && l.dpp.kind != DppKind::none && share_vectors(e.writes, l.reads) ? 2 : 0;
     }},
    {"a vector instruction writes a register whose lane is read",
     [](const Instruction& e, const Instruction& l) {
       return is_vector(e) && is_lane_read(l) && share_vectors(e.writes, l.reads) ? 1 : 0;
     }},
    {"a transcendental result is read by an instruction that is not transcendental",
     [](const Instruction& e, const Instruction& l) {
       return is_transcendental(e) && (is_vector(l) || is_matrix(l)) && !is_transcendental(l) &&
                      share_vectors(e.writes, l.reads)
                  ? 1
                  : 0;
     }},
    {"a result that SDWA or op_sel shifts is read",
     [](const Instruction& e, const Instruction& l) {
       return shifts_its_result(e) && (is_vector(l) || is_matrix(l)) && share_vectors(e.writes, l.reads) ? 1 : 0;
     }},
    {"a vector instruction overwrites the data of a store of more than 8 bytes",
     [](const Instruction& e, const Instruction& l) {
       if (!is_vector_memory(e) || !e.writes.empty() || !is_vector(l)) return 0;
       // A buffer store is safe when its scalar offset is a register.
       if (has_name(e, "buffer_") && std::any_of(e.reads.begin(), e.reads.end(), [](const RegisterUse& use) {
             return use.position >= 0 && !use.is_vector() && use.count == 1;
           }))
         return 0;
       return share(e.reads, l.writes,
                    [](const RegisterUse& use, const RegisterUse&) { return use.is_vector() && use.count > 2; })
                  ? 2
                  : 0;
     }},
    {"a dot product's result is used by another instruction",
     [](const Instruction& e, const Instruction& l) {
       if (!is_dot(e) || !(is_vector(l) || is_memory(l))) return 0;
       if (e.operation == l.operation) {
         // The next sum may begin with it at once. Its place: after two factors, each with a word of modifiers before
         // it, or without if the destination is the sum.
         const bool accumulates = e.operation->name[6] == 'c';
         const bool reads_factor = share(e.writes, l.reads, [&](const RegisterUse& use, const RegisterUse& read) {
           return use.is_vector() && read.position >= 0 && read.position <= (accumulates ? 2 : 4);
         });
         return reads_factor ? 3 : 0;
       }
       return share_vectors(e.writes, l.reads) || share_vectors(e.writes, l.writes) ? 3 : 0;
     }},
};

// Which operand of a matrix instruction the registers are that an earlier one writes.
bool is_addend(const Instruction& later, const RegisterUse& read) {
  const int position = has_name(later, "v_smfmac") ? 6 : 3;  // after the indices and the modifiers
  return read.position == position;
}

int matrix_to_addend(const Instruction& e, const Instruction& l, bool is_same) {
  if (is_same) {
    if (e.operation == l.operation && e.operation->name == "v_mfma_f64_4x4x4_4b_f64") return 4;
    return passes(e) == 2 ? 2 : 0;
  }
  if (is_double_matrix(e)) return is_narrow_matrix(l) ? 0 : passes(e) == 4 ? 4 : 9;
  if (is_narrow_matrix(l) && !is_narrow_matrix(e)) return 0;
  return passes(e) + (is_narrow_matrix(e) ? 1 : 0);
}

int matrix_to_factor(const Instruction& e) {
  if (is_double_matrix(e)) return passes(e) == 4 ? 6 : 11;
  return passes(e) + (is_narrow_matrix(e) ? 3 : 2);
}

constexpr NamedRule matrix_rules[] = {
    {"a vector register is written before a matrix instruction reads it",
     [](const Instruction& e, const Instruction& l) {
       return is_vector(e) && !is_dot(e) && is_matrix(l) && share_vectors(e.writes, l.reads) ? 2 : 0;
     }},
    {"a matrix instruction reads the result of another",
     [](const Instruction& e, const Instruction& l) {
       if (!is_matrix(e) || !is_matrix(l)) return 0;
       const RegisterUse& result = e.writes[0];
       int states = 0;
       for (const RegisterUse& read : l.reads) {
         if (!read.overlaps(result)) continue;
         const bool is_same = read.first == result.first && read.count == result.count;
         states = std::max(states, is_addend(l, read) ? matrix_to_addend(e, l, is_same) : matrix_to_factor(e));
       }
       return states;
     }},
    {"a matrix result is read, or overwritten, by an instruction of another kind",
     [](const Instruction& e, const Instruction& l) {
       if (!is_matrix(e) || !(is_vector(l) || is_memory(l))) return 0;
       const bool reads = share_vectors(e.writes, l.reads);
       if (!reads && !share_vectors(e.writes, l.writes)) return 0;
       if (!is_double_matrix(e)) return passes(e) + (is_narrow_matrix(e) ? 3 : 2);
       if (reads && is_memory(l)) return passes(e) == 4 ? 9 : 18;
       return passes(e) == 4 ? 6 : 11;
     }},
    {"a register is overwritten that a matrix instruction still reads as its addend",
     [](const Instruction& e, const Instruction& l) {
       if (!is_narrow_matrix(e) || !(is_vector(l) || is_memory(l))) return 0;
       const bool overwrites = share(e.reads, l.writes, [&](const RegisterUse& read, const RegisterUse&) {
         return read.is_vector() && is_addend(e, read);
       });
       return overwrites ? passes(e) - 1 : 0;
     }},
    {"a float64 multiply-add follows a float64 matrix instruction",
     [](const Instruction& e, const Instruction& l) {
       return is_double_matrix(e) && (has_name(l, "v_fma_f64") || has_name(l, "v_fmac_f64")) ? 2 : 0;
     }},
};

template <size_t count>
void apply(const NamedRule (&rules)[count], const Instruction& earlier, const Instruction& later, RequiredWait& most) {
  for (const NamedRule& rule : rules) {
    const int states = rule.states(earlier, later);
    if (states > most.states) most = {states, rule.text};
  }
}

// Whether any rule can ask for something in front of it.
bool can_be_late(const Instruction& instruction) {
  return is_vector(instruction) || is_matrix(instruction) || is_memory(instruction) ||
         instruction.hardware_register >= 0 || has_name(instruction, "s_sendmsg");
}

}  // namespace

RequiredWait required_wait(const Instruction& earlier, const Instruction& later) {
  RequiredWait most;
  apply(scalar_rules, earlier, later, most);
  apply(vector_rules, earlier, later, most);
  apply(matrix_rules, earlier, later, most);
  return most;
}

void IssueHistory::issue(const Instruction& instruction, bool jumped) {
  if (jumped) {
    jump_ = last();
    stretch_before_ = time_ - stretch_begin_;
    stretch_begin_ = time_;
    stretch_first_ = &instruction;
  }
  entries_[count_++ % capacity] = {&instruction, time_};
  time_ += 1 + static_cast<uint32_t>(instruction.nop_states);
}

std::optional<std::string> HazardChecker::issue(IssueHistory& history, const Instruction& instruction) {
  const Instruction* last = history.last();
  const bool jumped = last && last->address + static_cast<uint64_t>(last->size) != instruction.address;
  if (!can_be_late(instruction)) {
    history.issue(instruction, jumped);
    return std::nullopt;
  }
  const uint32_t stretch = jumped ? 0 : history.time_ - history.stretch_begin_;
  const Instruction* jump = jumped ? last : history.jump_;
  const uint32_t before = jumped ? history.time_ - history.stretch_begin_ : history.stretch_before_;
  const size_t index = index_of(instruction);
  const bool is_straight = stretch > longest_hazard;
  const bool is_behind_one_jump = !is_straight && jump && before > longest_hazard;
  const size_t target = jumped ? index : history.stretch_first_ ? index_of(*history.stretch_first_) : 0;
  constexpr int index_bits = 21;  // of a program with 2 million instructions
  const uint64_t key = is_behind_one_jump ? (index << index_bits | index_of(*jump)) << index_bits | target : 0;
  if (is_straight && is_good_[index]) {
    history.issue(instruction, jumped);
    return std::nullopt;
  }
  if (!is_behind_one_jump || !good_behind_jumps_.contains(key)) {
    if (auto wrong = compare(history, instruction)) return wrong;
    if (is_straight) is_good_[index] = true;
    if (is_behind_one_jump) good_behind_jumps_.insert(key);
  }
  history.issue(instruction, jumped);
  return std::nullopt;
}

std::optional<std::string> HazardChecker::compare(const IssueHistory& history, const Instruction& instruction) {
  for (uint64_t back = 1; back <= std::min<uint64_t>(history.count_, IssueHistory::capacity); ++back) {
    const IssueHistory::Entry& entry = history.entry(back);
    const auto between = static_cast<int>(history.time_ - entry.time - 1);
    if (between >= longest_hazard) break;
    const RequiredWait wait = required_wait(*entry.instruction, instruction);
    if (wait.states > between)
      return fmt::format("follows '{}' after {} wait states, but {} are needed, since {}: an s_nop {} is missing",
                         entry.instruction->text, between, wait.states, wait.rule, wait.states - between - 1);
  }
  return std::nullopt;
}

}  // namespace gfx942sim
