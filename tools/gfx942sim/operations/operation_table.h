// All operations that the simulator knows, by mnemonic. Each family of instructions is one file of this folder and
// hands its rows over through one function.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "gfx942sim/code/instruction.h"

namespace gfx942sim {

// Null when the mnemonic is not known.
const Operation* find_operation(std::string_view mnemonic);

const std::vector<Operation>& all_operations();

using Operations = std::vector<Operation>;

// A function of its own: built in place, the row's string and vector would be most of the code of each family.
void add_row(Operations& rows, std::string name, Unit unit, void (*execute)(Wave&, const Instruction&),
             std::initializer_list<Type> types = {}, int cycles = 4);

void add_scalar_operations(Operations&);
void add_scalar_logic_operations(Operations& rows);
void add_scalar_control_operations(Operations&);
void add_scalar_memory_operations(Operations&);
void add_vector_float_operations(Operations&);
void add_vector_integer_operations(Operations&);
void add_vector_move_operations(Operations&);
void add_vector_compare_operations(Operations&);
void add_vector_convert_operations(Operations&);
void add_packed_operations(Operations&);
void add_matrix_operations(Operations&);
void add_vector_memory_operations(Operations&);
void add_lds_operations(Operations&);

}  // namespace gfx942sim
