// Reads an instruction from the assembly text that LLVM's disassembler prints. The text is AMD's published assembly
// language, which stays the same between versions of LLVM; the operand lists of its internal opcodes do not.
#pragma once

#include <string_view>

#include "gfx942sim/code/instruction.h"

namespace gfx942sim {

// An instruction whose mnemonic has no operation keeps a null operation and its text. Throws std::invalid_argument when
// an operand or a modifier of a known mnemonic is not understood.
Instruction parse_instruction(std::string_view text);

}  // namespace gfx942sim
