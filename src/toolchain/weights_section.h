// The weights' section of a model.so.
//
// Problem: an assembler holds the bytes that it includes twice and writes them once more, a linker holds them twice
// again: gigabytes for a network whose weights are large. Method: both learn only the section's size. It is linked as
// one without contents (.bss is such a section), and its bytes are then written once, after all that was linked.
//
//     linked:   LOAD rw (.data .bss .lrodata: memory only)   NOTE (.note.onnxc)
//     written:  LOAD rw (.data .bss)   LOAD r (.lrodata: the end of the file), in the place of NOTE
//
// Limits: ELF, 64 bits, and a linker that puts large sections (x86-64 ABI, section 5.1.2) last, as lld does.
#pragma once

#include <string>
#include <vector>

#include "codegen/host/weights.h"

namespace onnxc {

class WeightsSection {
 public:
  // The address of the symbol is a multiple of 4096. The bytes must outlive the section.
  void add(std::string symbol, const WeightBytes& bytes);
  // An object of the symbols, without their bytes.
  std::string assembly() const;
  // Writes what a linker made of that object and others, a library or an object, with the bytes.
  void write(std::string linked, OutputFile& file) const;

 private:
  struct Block {
    std::string symbol;
    const WeightBytes* bytes;
  };
  std::vector<Block> blocks_;
};

}  // namespace onnxc
