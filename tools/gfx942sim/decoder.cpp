#include "gfx942sim/decoder.h"

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
#include <cstring>
#include <memory>
#include <stdexcept>

#include "gfx942sim/assembly_parser.h"
#include "support/diagnostics.h"

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace gfx942sim {
namespace {

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

  // The size and the text of the instruction at the start of the code, or zero when there is none.
  std::pair<int, std::string> read(std::span<const std::byte> code, uint64_t address) {
    llvm::MCInst instruction;
    uint64_t size = 0;
    const llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t*>(code.data()), code.size());
    if (disassembler_->getInstruction(instruction, size, bytes, address, llvm::nulls()) !=
        llvm::MCDisassembler::Success)
      return {0, ""};
    std::string text;
    llvm::raw_string_ostream stream(text);
    printer_->printInst(&instruction, address, "", *subtarget_, stream);
    std::replace(text.begin(), text.end(), '\t', ' ');
    text.erase(0, text.find_first_not_of(' '));
    return {static_cast<int>(size), text};
  }

 private:
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
  auto [size, text] = disassembler.read(code, address);
  if (size == 0) return unknown_word(code);
  Instruction instruction;
  try {
    instruction = parse_instruction(text);
  } catch (const std::invalid_argument& error) {
    instruction.text = fmt::format("{} ({})", text, error.what());
  }
  instruction.size = size;
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
