#include "gfx942sim/operations/operation_table.h"

#include <unordered_map>
#include <utility>

namespace gfx942sim {

const std::vector<Operation>& all_operations() {
  static const Operations operations = [] {
    Operations rows;
    add_scalar_operations(rows);
    add_scalar_logic_operations(rows);
    add_scalar_control_operations(rows);
    add_scalar_memory_operations(rows);
    add_vector_float_operations(rows);
    add_vector_integer_operations(rows);
    add_vector_move_operations(rows);
    add_vector_compare_operations(rows);
    add_vector_convert_operations(rows);
    add_packed_operations(rows);
    add_matrix_operations(rows);
    add_vector_memory_operations(rows);
    add_lds_operations(rows);
    for (Operation& row : rows) row.is_atomic = row.name.find("_atomic_") != std::string::npos;
    return rows;
  }();
  return operations;
}

void add_row(Operations& rows, std::string name, Unit unit, void (*execute)(Wave&, const Instruction&),
             std::initializer_list<Type> types, int cycles) {
  rows.push_back({std::move(name), unit, execute, types, cycles});
}

const Operation* find_operation(std::string_view mnemonic) {
  static const std::unordered_map<std::string_view, const Operation*> by_name = [] {
    std::unordered_map<std::string_view, const Operation*> map;
    for (const Operation& operation : all_operations()) map.emplace(operation.name, &operation);
    return map;
  }();
  auto found = by_name.find(mnemonic);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace gfx942sim
