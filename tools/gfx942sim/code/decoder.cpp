#include "gfx942sim/code/decoder.h"

#include <fmt/format.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "gfx942sim/code/assembly_parser.h"
#include "support/diagnostics.h"

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace gfx942sim {
namespace {

// The registers of LLVM's name of one or several, such as "SGPR4_SGPR5"; none if it is not a register of a wave.
RegisterUse register_range(std::string_view name) {
  struct Family {
    std::string_view prefix;
    int first;
  };
  static constexpr Family families[] = {{"SGPR", 0},
                                        {"TTMP", trap_temporary_register},
                                        {"VGPR", first_vector_number},
                                        {"AGPR", first_accumulator_number}};
  for (const Family& family : families) {
    if (!name.starts_with(family.prefix)) continue;
    int number = 0, count = 0;
    std::from_chars(name.data() + family.prefix.size(), name.data() + name.size(), number);
    for (size_t at = 0; at != std::string_view::npos; at = name.find(family.prefix, at + 1)) ++count;
    return {family.first + number, count};
  }
  static constexpr std::pair<std::string_view, RegisterUse> others[] = {
      {"VCC_LO", {vcc_register, 1}},
      {"VCC_HI", {vcc_register + 1, 1}},
      {"VCC", {vcc_register, 2}},
      {"EXEC_LO", {exec_register, 1}},
      {"EXEC_HI", {exec_register + 1, 1}},
      {"EXEC", {exec_register, 2}},
      {"M0", {m0_register, 1}},
      {"FLAT_SCR_LO", {flat_scratch_register, 1}},
      {"FLAT_SCR_HI", {flat_scratch_register + 1, 1}},
      {"FLAT_SCR", {flat_scratch_register, 2}},
      {"SCC", {scc_number, 1}},
      {"SRC_SCC", {scc_number, 1}},
  };
  for (const auto& [prefix, use] : others)
    if (name.starts_with(prefix)) return use;
  return {};
}

class Disassembler {
 public:
  Disassembler() {
    static const bool initialized = [] {
      LLVMInitializeAMDGPUTargetInfo();
      LLVMInitializeAMDGPUTargetMC();
      LLVMInitializeAMDGPUDisassembler();
      return true;
    }();
    (void)initialized;
    const std::string triple = "amdgcn-amd-amdhsa";
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    onnxc::user_check(target != nullptr, "LLVM's library knows no AMD GPUs: {}", error);
    registers_.reset(target->createMCRegInfo(triple));
    assembly_.reset(target->createMCAsmInfo(*registers_, triple, llvm::MCTargetOptions()));
    instructions_.reset(target->createMCInstrInfo());
    subtarget_.reset(target->createMCSubtargetInfo(triple, "gfx942", ""));
    context_ =
        std::make_unique<llvm::MCContext>(llvm::Triple(triple), assembly_.get(), registers_.get(), subtarget_.get());
    disassembler_.reset(target->createMCDisassembler(*subtarget_, *context_));
    printer_.reset(target->createMCInstPrinter(llvm::Triple(triple), 0, *assembly_, *instructions_, *registers_));
    printer_->setPrintImmHex(false);
  }

  struct Text {
    int size = 0;  // of the instruction in bytes; zero when there is none
    std::string text;
    std::vector<RegisterUse> reads, writes;
  };

  // The instruction at the start of the code.
  Text read(std::span<const std::byte> code, uint64_t address) {
    llvm::MCInst instruction;
    uint64_t size = 0;
    const llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t*>(code.data()), code.size());
    if (disassembler_->getInstruction(instruction, size, bytes, address, llvm::nulls()) !=
        llvm::MCDisassembler::Success)
      return {};
    Text result;
    result.size = static_cast<int>(size);
    collect_registers(instruction, result);
    std::string& text = result.text;
    llvm::raw_string_ostream stream(text);
    printer_->printInst(&instruction, address, "", *subtarget_, stream);
    std::replace(text.begin(), text.end(), '\t', ' ');
    text.erase(0, text.find_first_not_of(' '));
    return result;
  }

 private:
  void collect_registers(const llvm::MCInst& instruction, Text& result) const {
    const llvm::MCInstrDesc& description = instructions_->get(instruction.getOpcode());
    for (unsigned i = 0; i < instruction.getNumOperands(); ++i) {
      if (!instruction.getOperand(i).isReg()) continue;
      auto& uses = i < description.getNumDefs() ? result.writes : result.reads;
      add_register(instruction.getOperand(i).getReg(), static_cast<int>(i), uses);
    }
    for (llvm::MCPhysReg number : description.implicit_uses()) add_register(number, -1, result.reads);
    for (llvm::MCPhysReg number : description.implicit_defs()) add_register(number, -1, result.writes);
  }

  void add_register(llvm::MCRegister number, int position, std::vector<RegisterUse>& uses) const {
    RegisterUse use = register_range(registers_->getName(number));
    use.position = position;
    if (use.count > 0) uses.push_back(use);
  }

  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembly_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

Instruction unknown_word(std::span<const std::byte> code) {
  uint32_t word;
  std::memcpy(&word, code.data(), sizeof word);
  Instruction instruction;
  instruction.text = fmt::format(".long {:#010x}", word);
  return instruction;
}

Instruction decode(Disassembler& disassembler, std::span<const std::byte> code, uint64_t address) {
  Disassembler::Text read = disassembler.read(code, address);
  if (read.size == 0) return unknown_word(code);
  Instruction instruction;
  try {
    instruction = parse_instruction(read.text);
  } catch (const std::invalid_argument& error) {
    instruction.text = fmt::format("{} ({})", read.text, error.what());
  }
  instruction.size = read.size;
  instruction.reads = std::move(read.reads);
  instruction.writes = std::move(read.writes);
  return instruction;
}

}  // namespace

Program::Program(std::span<const std::byte> code, uint64_t address) : address_(address), by_word_(code.size() / 4, -1) {
  Disassembler disassembler;
  for (size_t offset = 0; offset + 4 <= code.size();) {
    Instruction instruction = decode(disassembler, code.subspan(offset), address + offset);
    instruction.address = address + offset;
    by_word_[offset / 4] = static_cast<int>(instructions_.size());
    offset += static_cast<size_t>(instruction.size);
    instructions_.push_back(std::move(instruction));
  }
}

}  // namespace gfx942sim
