// The values that are in variables at a point of a nest that is being printed: loop indices, lets and values.
#pragma once

#include <set>
#include <unordered_map>

#include "codegen/nests/flat_nest.h"
#include "codegen/text/scalar_printer.h"

namespace onnxc {

// How generated code refers to the dims and the memory of the model.
struct ModelNames {
  SymbolNames symbols;              // C variables of the dims
  std::map<Symbol, size_t> places;  // the runtime's places of their values
  std::map<BufferId, size_t> storages;
};

// Declares the dims among `used`: "const int64_t d0_N = frame.symbols[0];".
void declare_dims(TextWriter& writer, const std::set<Symbol>& used, const ModelNames& names,
                  const std::string& values = "frame.symbols");

class NestScope {
 public:
  NestScope(TextWriter& writer, const FlatNest& nest, const ModelNames& names);

  const ScalarDialect& dialect() const { return dialect_; }
  void name_loops(const std::vector<FlatLoop>& loops);
  const std::string& name(const FlatLoop& loop) const { return symbols_.at(loop.symbol); }
  std::string text(const Expr& expr) const { return print_expr(expr, symbols_); }
  std::string value(const Scalar& scalar) { return printer_.value(scalar); }
  void set_accumulator(int slot, std::string text) { printer_.set_accumulator(slot, std::move(text)); }

  // How the nest touches a storage, in the order of the storages.
  struct StorageUse {
    BufferId storage;
    std::string type;  // of an element, const if it is only read
  };
  std::vector<StorageUse> storages() const;
  // "const float* const b2 = ..." for every storage that the nest touches and that has no name yet, from an array of
  // their memory.
  void declare_pointers(const std::string& buffers);
  void declare_pointer(const StorageUse& use, const std::string& buffers);
  void name_pointer(BufferId storage, std::string name) { pointers_.emplace(storage, std::move(name)); }
  const std::string& pointer(BufferId storage) const { return pointers_.at(storage); }

  // Forgets on destruction what became known during its lifetime: that is in an inner block of the source.
  class [[nodiscard]] Block {
   public:
    explicit Block(NestScope& scope) : scope_(scope), available_(scope.available_) { scope.printer_.enter(); }
    ~Block() {
      scope_.printer_.leave();
      scope_.available_ = std::move(available_);
    }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

   private:
    NestScope& scope_;
    std::set<Symbol> available_;
  };

  void make_available(const Symbol& symbol) { available_.insert(symbol); }

  enum class Hoist {
    nothing,
    values,           // also loads
    values_no_loads,  // if a loop inside may run zero times, and memory may be missing then
  };
  // Prints the lets whose axes are known, then the values that the stores or elements need unconditionally and that do
  // not vary further inside.
  void print_lets();
  void hoist_elements(Hoist hoist);
  void hoist_stores();

 private:
  // The variables that a value depends on.
  struct Needs {
    std::set<Symbol> symbols;
    bool accumulators = false, loads = false, own_stores = false;
  };
  const Needs& needs(const ScalarNode& node);
  void hoist(const Scalar& root, Hoist hoist);
  bool is_available(const std::set<Symbol>& symbols) const;

  TextWriter& writer_;
  const FlatNest& nest_;
  const ModelNames& model_;
  ScalarDialect dialect_;
  SymbolNames symbols_;
  std::set<std::string> loop_names_;
  std::map<BufferId, std::string> pointers_;
  std::set<BufferId> stored_;
  std::set<Symbol> available_;
  std::unordered_map<const ScalarNode*, Needs> needs_;
  ScalarPrinter printer_;
};

}  // namespace onnxc
