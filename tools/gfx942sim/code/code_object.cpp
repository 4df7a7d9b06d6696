#include "gfx942sim/code/code_object.h"

#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/DebugInfo/DIContext.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/AMDHSAKernelDescriptor.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "support/diagnostics.h"

namespace gfx942sim {
namespace {

using Elf = llvm::object::ELFObjectFile<llvm::object::ELF64LE>;
using llvm::ELF::EF_AMDGPU_MACH;
using llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX942;
using onnxc::user_check;
using onnxc::user_error;

template <class T>
T take(llvm::Expected<T> value, const char* what) {
  if (!value) user_error("the code object's {} cannot be read: {}", what, llvm::toString(value.takeError()));
  return std::move(*value);
}

constexpr uint32_t bits(uint32_t word, int first, int count) { return word >> first & ((1U << count) - 1); }

class ParsedCodeObject : public CodeObject {
 public:
  explicit ParsedCodeObject(std::span<const std::byte> data) : bytes_(data.begin(), data.end()), elf_(open(bytes_)) {
    read_segments();
    read_relocations();
    read_metadata();
    for (Kernel& kernel : kernels) read_descriptor(kernel);
  }

  std::string source_line(uint64_t address) const override {
    static std::mutex mutex;  // LLVM reads debug information lazily
    std::lock_guard lock(mutex);
    if (!debug_information_) debug_information_ = llvm::DWARFContext::create(elf_);
    const auto info =
        debug_information_->getLineInfoForAddress({address, llvm::object::SectionedAddress::UndefSection});
    if (info.FileName == llvm::DILineInfo::BadString || info.Line == 0) return "";
    return fmt::format("{}:{}", info.FileName, info.Line);
  }

 private:
  static Elf open(const std::vector<std::byte>& data) {
    const llvm::StringRef text(reinterpret_cast<const char*>(data.data()), data.size());
    Elf elf = take(Elf::create(llvm::MemoryBufferRef(text, "code object")), "ELF header");
    const auto& header = elf.getELFFile().getHeader();
    user_check(header.e_machine == llvm::ELF::EM_AMDGPU, "this ELF file holds no AMD GPU code (machine {})",
               static_cast<unsigned>(header.e_machine));
    const unsigned machine = header.e_flags & llvm::ELF::EF_AMDGPU_MACH;
    user_check(machine == llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX942,
               "the code object is for another architecture than gfx942 (ELF flags {:#x})",
               static_cast<unsigned>(header.e_flags));
    return elf;
  }

  void read_segments() {
    constexpr uint64_t most_bytes = uint64_t{1} << 30;
    uint64_t bytes = 0;
    for (const auto& header : take(elf_.getELFFile().program_headers(), "program headers")) {
      if (header.p_type != llvm::ELF::PT_LOAD || header.p_memsz == 0) continue;
      user_check(header.p_offset <= bytes_.size() && header.p_filesz <= bytes_.size() - header.p_offset &&
                     header.p_filesz <= header.p_memsz,
                 "a segment of the code object lies outside its file");
      user_check(header.p_memsz <= most_bytes - bytes, "the code object asks for more than {} bytes of memory",
                 most_bytes);
      bytes += header.p_memsz;
      Segment segment{header.p_vaddr, std::vector<std::byte>(header.p_memsz), (header.p_flags & llvm::ELF::PF_X) != 0};
      std::memcpy(segment.bytes.data(), bytes_.data() + header.p_offset, header.p_filesz);
      segments.push_back(std::move(segment));
    }
  }

  void read_relocations() {
    for (const auto& section : take(elf_.getELFFile().sections(), "sections")) {
      if (section.sh_type != llvm::ELF::SHT_RELA || !(section.sh_flags & llvm::ELF::SHF_ALLOC)) continue;
      for (const auto& entry : take(elf_.getELFFile().relas(section), "relocations")) {
        user_check(entry.getType(false) == llvm::ELF::R_AMDGPU_RELATIVE64,
                   "the code object has a relocation of type {}, which the simulator does not place",
                   static_cast<unsigned>(entry.getType(false)));
        relocations.push_back({entry.r_offset, static_cast<uint64_t>(entry.r_addend)});
      }
    }
  }

  llvm::StringRef metadata_note() {
    for (const auto& section : take(elf_.getELFFile().sections(), "sections")) {
      if (section.sh_type != llvm::ELF::SHT_NOTE) continue;
      // LLVM adds the two without looking at an overflow.
      user_check(section.sh_offset <= bytes_.size() && section.sh_size <= bytes_.size() - section.sh_offset,
                 "a section of the code object lies outside its file");
      llvm::Error error = llvm::Error::success();
      for (const auto& note : elf_.getELFFile().notes(section, error))
        if (note.getName() == "AMDGPU" && note.getType() == llvm::ELF::NT_AMDGPU_METADATA) {
          llvm::consumeError(std::move(error));
          return note.getDescAsStringRef(std::max<size_t>(section.sh_addralign, 4));  // as notes() reads them
        }
      if (error) user_error("the code object's notes cannot be read: {}", llvm::toString(std::move(error)));
    }
    user_error("the code object has no AMDGPU metadata note (code object version 2 or older?)");
  }

  void read_metadata() {
    llvm::msgpack::Document document;
    user_check(document.readFromBlob(metadata_note(), false) && document.getRoot().isMap(),
               "the code object's metadata is not MessagePack");
    auto& root = document.getRoot().getMap();
    auto list = root["amdhsa.kernels"];
    if (!list.isArray()) return;
    for (auto& node : list.getArray()) {
      user_check(node.isMap(), "the code object's metadata is wrong: a kernel is not a map");
      auto& map = node.getMap();
      auto number = [](llvm::msgpack::MapDocNode& from, const char* key) -> uint32_t {
        auto value = from[key];
        return value.getKind() == llvm::msgpack::Type::UInt ? static_cast<uint32_t>(value.getUInt()) : 0;
      };
      Kernel kernel;
      kernel.name = map[".name"].isString() ? map[".name"].getString().str() : "";
      kernel.argument_bytes = number(map, ".kernarg_segment_size");
      kernel.max_threads = number(map, ".max_flat_workgroup_size");
      kernel.dynamic_stack =
          map[".uses_dynamic_stack"].getKind() == llvm::msgpack::Type::Boolean && map[".uses_dynamic_stack"].getBool();
      if (map[".args"].isArray())
        for (auto& argument : map[".args"].getArray()) {
          user_check(argument.isMap(), "the code object's metadata is wrong: an argument is not a map");
          auto& fields = argument.getMap();
          auto kind = fields[".value_kind"];
          kernel.arguments.push_back(
              {number(fields, ".offset"), number(fields, ".size"), kind.isString() ? kind.getString().str() : ""});
        }
      kernels.push_back(std::move(kernel));
    }
  }

  // Not by LLVM's own walk over symbols, which believes what one says of its section.
  uint64_t descriptor_address(const Kernel& kernel) {
    const auto& file = elf_.getELFFile();
    const auto sections = take(file.sections(), "sections");
    for (const auto& section : sections) {
      if (section.sh_type != llvm::ELF::SHT_SYMTAB) continue;
      const llvm::StringRef names = take(file.getStringTableForSymtab(section, sections), "names of symbols");
      for (const auto& symbol : take(file.symbols(&section), "symbols"))
        if (take(symbol.getName(names), "symbols") == kernel.name + ".kd") return symbol.st_value;
    }
    user_error("kernel {} has no descriptor {}.kd", kernel.name, kernel.name);
  }

  // The descriptor's layout is in LLVM's "User Guide for AMDGPU Backend", section "Kernel Descriptor".
  void read_descriptor(Kernel& kernel) {
    const uint64_t address = descriptor_address(kernel);
    llvm::amdhsa::kernel_descriptor_t descriptor;
    auto segment = std::find_if(segments.begin(), segments.end(), [&](const Segment& candidate) {
      const uint64_t size = candidate.bytes.size();
      return size >= sizeof descriptor && address >= candidate.address &&
             address - candidate.address <= size - sizeof descriptor;
    });
    user_check(segment != segments.end(), "the descriptor of kernel {} lies outside the code object", kernel.name);
    std::memcpy(&descriptor, segment->bytes.data() + (address - segment->address), sizeof descriptor);

    kernel.entry = address + static_cast<uint64_t>(descriptor.kernel_code_entry_byte_offset);
    kernel.lds_bytes = descriptor.group_segment_fixed_size;
    kernel.scratch_bytes = descriptor.private_segment_fixed_size;
    kernel.properties = descriptor.kernel_code_properties;
    kernel.preload = descriptor.kernarg_preload;
    kernel.resource2 = descriptor.compute_pgm_rsrc2;
    const int registers = (static_cast<int>(bits(descriptor.compute_pgm_rsrc1, 0, 6)) + 1) * 8;
    const int accumulator_offset = (static_cast<int>(bits(descriptor.compute_pgm_rsrc3, 0, 6)) + 1) * 4;
    kernel.vector_registers = std::min(registers, accumulator_offset);
    kernel.accumulators = registers - kernel.vector_registers;
    const uint32_t float_mode = bits(descriptor.compute_pgm_rsrc1, 12, 8);
    const uint32_t dx10_clamp = bits(descriptor.compute_pgm_rsrc1, 21, 1),
                   ieee = bits(descriptor.compute_pgm_rsrc1, 23, 1);
    kernel.mode = float_mode | dx10_clamp << 8 | ieee << 9;
  }

  std::vector<std::byte> bytes_;
  Elf elf_;
  mutable std::unique_ptr<llvm::DIContext> debug_information_;
};

}  // namespace

std::shared_ptr<const CodeObject> CodeObject::parse(std::span<const std::byte> bytes) {
  return std::make_shared<ParsedCodeObject>(bytes);
}

const Kernel* CodeObject::find_kernel(const std::string& name) const {
  auto found = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& kernel) { return kernel.name == name; });
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace gfx942sim
