// Comparisons: each lane's result is one bit of a scalar pair, and of EXEC for v_cmpx.
#include "gfx942sim/operations/float_functions.h"
#include "gfx942sim/operations/vector_operation.h"

namespace gfx942sim {
namespace {

template <class F>
void execute_compare_to_exec(Wave& wave, const Instruction& instruction) {
  execute_vector<F, VectorTraits{}>(wave, instruction);
  wave.set_exec(wave.read_uniform_pair(instruction.operands[0]));
}

template <class F>
void add_compare(Operations& rows, const std::string& name, F compare) {
  add_vector(rows, "v_cmp_" + name, compare);
  add_vector_row<F>(rows, "v_cmpx_" + name, Unit::vector, &execute_compare_to_exec<F>, 4);
}

template <class T>
void add_ordered(Operations& rows, const std::string& type) {
  add_compare(rows, "lt_" + type, [](T a, T b) { return LaneFlag{a < b}; });
  add_compare(rows, "eq_" + type, [](T a, T b) { return LaneFlag{a == b}; });
  add_compare(rows, "le_" + type, [](T a, T b) { return LaneFlag{a <= b}; });
  add_compare(rows, "gt_" + type, [](T a, T b) { return LaneFlag{a > b}; });
  add_compare(rows, "ge_" + type, [](T a, T b) { return LaneFlag{a >= b}; });
}

template <class T>
void add_integer_compares(Operations& rows, const std::string& type) {
  add_ordered<T>(rows, type);
  add_compare(rows, "ne_" + type, [](T a, T b) { return LaneFlag{a != b}; });
  add_compare(rows, "f_" + type, [](T, T) { return LaneFlag{false}; });
  add_compare(rows, "t_" + type, [](T, T) { return LaneFlag{true}; });
}

template <class T>
void add_float_compares(Operations& rows, const std::string& type) {
  add_ordered<T>(rows, type);
  add_compare(rows, "lg_" + type, [](T a, T b) { return LaneFlag{a < b || a > b}; });
  add_compare(rows, "o_" + type, [](T a, T b) { return LaneFlag{!is_nan(a) && !is_nan(b)}; });
  add_compare(rows, "u_" + type, [](T a, T b) { return LaneFlag{is_nan(a) || is_nan(b)}; });
  add_compare(rows, "nge_" + type, [](T a, T b) { return LaneFlag{!(a >= b)}; });
  add_compare(rows, "nlg_" + type, [](T a, T b) { return LaneFlag{!(a < b || a > b)}; });
  add_compare(rows, "ngt_" + type, [](T a, T b) { return LaneFlag{!(a > b)}; });
  add_compare(rows, "nle_" + type, [](T a, T b) { return LaneFlag{!(a <= b)}; });
  add_compare(rows, "neq_" + type, [](T a, T b) { return LaneFlag{!(a == b)}; });
  add_compare(rows, "nlt_" + type, [](T a, T b) { return LaneFlag{!(a < b)}; });
  add_compare(rows, "f_" + type, [](T, T) { return LaneFlag{false}; });
  add_compare(rows, "tru_" + type, [](T, T) { return LaneFlag{true}; });
  add_compare(rows, "class_" + type, [](T a, uint32_t classes) { return LaneFlag{(class_bit(a) & classes) != 0}; });
}

}  // namespace

void add_vector_compare_operations(Operations& rows) {
  add_float_compares<float>(rows, "f32");
  add_float_compares<double>(rows, "f64");
  add_float_compares<f16>(rows, "f16");
  add_integer_compares<uint32_t>(rows, "u32");
  add_integer_compares<int32_t>(rows, "i32");
  add_integer_compares<uint64_t>(rows, "u64");
  add_integer_compares<int64_t>(rows, "i64");
  add_integer_compares<uint16_t>(rows, "u16");
  add_integer_compares<int16_t>(rows, "i16");
}

}  // namespace gfx942sim
