// Reads the assembly of every kernel template and fails if an innermost loop with multiply-adds keeps a vector on the
// stack: a spilled accumulator, weight or broadcast costs more than all that the tile was chosen for.
#include <cxxabi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "support/processes/subprocess.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"
#include "toolchain/build_commands.h"
#include "toolchain/march.h"

namespace onnxc {
namespace {

// One instance of each form that a hot loop takes: layers of the networks in the benchmark.
constexpr const char* source = R"(
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/conv/conv_depthwise.h"
#include "kernels/cpu/conv/conv_direct.h"
#include "kernels/cpu/conv_grouped/conv_grouped.h"
#include "kernels/cpu/conv_nchw/conv_planar.h"
#include "kernels/cpu/conv_nchw/conv_planar_winograd.h"
#include "kernels/cpu/conv/conv_pooled.h"
#include "kernels/cpu/conv_int8/conv_depthwise_int8.h"
#include "kernels/cpu/conv_int8/conv_int8.h"
#include "kernels/cpu/conv_int8_winograd/conv_int8_winograd.h"
#include "kernels/cpu/matmul_int8/matmul_int8.h"
#include "kernels/cpu/conv_nchw/conv_stem.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd.h"
#include "kernels/cpu/conv_nchw/conv_to_rows.h"
#include "kernels/cpu/conv_transpose/conv_transpose.h"
#include "kernels/cpu/conv_transpose/conv_transpose_packed.h"
#include "kernels/cpu/conv_winograd/conv_winograd.h"
#include "kernels/cpu/matmul/matmul.h"
#include "kernels/cpu/memory_bound/softmax.h"
#include "kernels/cpu/conv/conv_direct_instances.cpp"
#include "kernels/cpu/conv_transpose/conv_transpose_instances.cpp"
#include "kernels/cpu/conv/conv_depthwise_instances.cpp"
#include "kernels/cpu/conv_grouped/conv_grouped_instances.cpp"
#include "kernels/cpu/conv_nchw/conv_to_rows_instances.cpp"
#include "kernels/cpu/conv_nchw/conv_stem_band_instances.cpp"
#include "kernels/cpu/memory_bound/layout_copy_instances.cpp"
#include "kernels/cpu/conv_winograd/conv_winograd_instances.cpp"
#include "kernels/cpu/conv_nchw/conv_planar_winograd_instances.cpp"
#include "kernels/cpu/conv_nchw/conv_stem_winograd_instances.cpp"

namespace onnxc::kernels {

struct BiasRelu {
  static constexpr bool is_light = true;
  const float* bias;
  vec operator()(vec x, const Position& p) const {
    return maximum(splat(0.0f), x + load(bias + p.channel_block * lanes));
  }
};
struct RowBias {
  const float* bias;
  vec operator()(vec x, const MatrixPosition& p) const { return x + load_partial(bias + p.column, p.count); }
};

template <class Kernel, class Epilogue>
void call(const typename Kernel::Arguments& arguments, const Epilogue& epilogue, int64_t begin, int64_t end,
          void* scratch) {
  Kernel::run(arguments, epilogue, begin, end, scratch);
}
template <template <ConvShape, class, class, class> class Kernel, int64_t inputs, int64_t outputs, int64_t groups,
          Axes kernel, Axes stride, Axes dilation = Axes{1, 1, 1}>
constexpr auto convolution =
    &call<Kernel<ConvShape{inputs, outputs, groups, kernel, stride, dilation}, float, float, BiasRelu>, BiasRelu>;
template <Axes tile>
struct Winograd {
  template <ConvShape shape, class Input, class Output, class Epilogue>
  using Convolution = WinogradConvolution<shape, Input, Output, Epilogue, tile>;
};
template <bool is_transposed>
struct Grouped {
  template <ConvShape shape, class Input, class Output, class Epilogue>
  using Convolution = GroupedConvolution<shape, Input, Output, Epilogue, is_transposed>;
};
using Call = void (*)(const ConvArguments<float, float>&, const BiasRelu&, int64_t, int64_t, void*);
extern const Call convolutions[];
const Call convolutions[] = {
    convolution<DirectConvolution, 64, 128, 1, {3, 3, 3}, {2, 2, 2}>,        // two blocks of output channels
    convolution<DirectConvolution, 24, 3 * lanes, 1, {1, 1, 1}, {1, 1, 1}>,  // three
    convolution<DirectConvolution, 54, 24, 1, {1, 1, 1}, {1, 1, 1}>,         // channels that fill no block
    convolution<DirectConvolution, 32, 3, 1, {3, 3, 3}, {1, 1, 1}>,          // one block
    convolution<StemConvolution, 3, 64, 1, {3, 7, 7}, {1, 2, 2}>,
    convolution<StemConvolution, 1, 32, 1, {3, 3, 3}, {1, 1, 1}>,
    convolution<StemConvolution, 1, lanes, 1, {9, 9, 1}, {1, 1, 1}>,
    convolution<StemWinogradConvolution, 1, lanes, 1, {9, 9, 1}, {1, 1, 1}>,  // no pieces but of three taps
    convolution<StemWinogradConvolution, 3, 64, 1, {3, 7, 7}, {1, 2, 2}>,
    convolution<StemWinogradConvolution, 3, 45, 1, {1, 5, 5}, {1, 1, 1}>,     // of three and of two
    convolution<TransposedConvolution, 64, 32, 1, {2, 2, 2}, {2, 2, 2}>,
    convolution<TransposedConvolution, 32, 3, 1, {3, 3, 3}, {2, 2, 2}>,
    convolution<TransposedConvolution, 64, 48, 1, {3, 3, 3}, {2, 2, 2}>,
    convolution<TransposedConvolution, 54, 3 * lanes, 1, {4, 4, 4}, {2, 2, 2}>,
    convolution<PackedTransposedConvolution, 32, 3, 1, {3, 3, 3}, {2, 2, 2}>,
    convolution<PackedTransposedConvolution, 32, lanes, 1, {2, 2, 2}, {2, 2, 2}>,
    convolution<Winograd<Axes{2, 2, 2}>::Convolution, 64, 64, 1, {3, 3, 3}, {1, 1, 1}>,
    convolution<Winograd<Axes{2, 2, 4}>::Convolution, 64, 64, 1, {3, 3, 3}, {1, 1, 1}>,
    convolution<Winograd<Axes{2, 4, 4}>::Convolution, 64, 32, 1, {3, 3, 3}, {1, 1, 1}>,
    convolution<Winograd<Axes{1, 4, 4}>::Convolution, 64, 144, 1, {1, 3, 3}, {1, 1, 1}>,
    convolution<Winograd<Axes{1, 2, 2}>::Convolution, 64, 144, 1, {1, 3, 3}, {1, 1, 1}>,
    convolution<Winograd<Axes{1, 2, 4}>::Convolution, 64, 144, 1, {1, 3, 3}, {1, 1, 1}>,
    convolution<Winograd<Axes{2, 1, 1}>::Convolution, 144, lanes, 1, {3, 1, 1}, {1, 1, 1}>,
    convolution<Winograd<Axes{4, 1, 1}>::Convolution, 144, lanes, 1, {3, 1, 1}, {1, 1, 1}>,
    convolution<Winograd<Axes{1, 2, 2}>::Convolution, 64, 64, 1, {5, 5, 5}, {1, 1, 1}>,
    convolution<Winograd<Axes{1, 2, 2}>::Convolution, 64, 64, 1, {1, 5, 5}, {1, 1, 1}>,
    convolution<Winograd<Axes{2, 1, 1}>::Convolution, 64, lanes, 1, {5, 1, 1}, {1, 1, 1}>,
    convolution<Winograd<Axes{2, 2, 2}>::Convolution, 64, 128, 1, {3, 3, 3}, {2, 2, 2}>,
    convolution<Winograd<Axes{1, 2, 2}>::Convolution, 128, 256, 1, {3, 3, 3}, {2, 2, 2}>,
    convolution<Winograd<Axes{2, 1, 1}>::Convolution, 230, 128, 1, {3, 1, 1}, {2, 1, 1}>,
    convolution<Winograd<Axes{2, 2, 4}>::Convolution, 64, 64, 1, {3, 3, 3}, {1, 1, 1}, {4, 4, 4}>,
    convolution<DepthwiseConvolution, 54, 54, 54, {3, 3, 3}, {1, 1, 1}>,
    convolution<DepthwiseConvolution, 108, 108, 108, {3, 3, 3}, {1, 2, 2}>,
    convolution<DepthwiseConvolution, 24, 24, 24, {5, 1, 1}, {1, 1, 1}>,
    convolution<DepthwiseConvolution, 128, 128, 32, {3, 3, 3}, {1, 1, 1}>,
    convolution<DepthwiseConvolution, 54, 54, 54, {7, 7, 7}, {1, 1, 1}>,
    convolution<DepthwiseConvolution, 54, 54, 54, {1, 9, 9}, {1, 1, 1}>,
    convolution<DepthwiseConvolution, lanes / 2, lanes / 2, lanes / 2, {7, 7, 7}, {1, 1, 1}>,
    convolution<DepthwiseConvolution, lanes / 2, lanes / 2, lanes / 2, {7, 7, 7}, {2, 2, 2}>,
    convolution<DepthwiseConvolution, lanes / 4, lanes / 4, lanes / 4, {3, 3, 3}, {1, 1, 1}>,
    convolution<DirectConvolution, 48, 48, 2, {3, 3, 3}, {1, 1, 1}>,  // groups that share blocks
    convolution<DirectConvolution, 60, 60, 3, {1, 1, 1}, {1, 1, 1}>,
    convolution<TransposedConvolution, 24, 24, 2, {3, 3, 3}, {2, 2, 2}>,
    convolution<Grouped<false>::Convolution, 128, 256, 64, {3, 3, 3}, {1, 1, 1}>,
    convolution<Grouped<false>::Convolution, 60, 100, 20, {3, 3, 3}, {1, 1, 1}>,
    convolution<Grouped<false>::Convolution, 30, 30, 10, {1, 1, 1}, {1, 1, 1}>,
    convolution<Grouped<true>::Convolution, 64, 64, 64, {3, 3, 3}, {2, 2, 2}>,
    convolution<Grouped<true>::Convolution, 60, 100, 20, {3, 3, 3}, {2, 2, 2}>,
};
using Pooling = TwoEpilogues<BiasRelu, NoEpilogue>;
using Maximum = MaximumOfWindows<64, Axes{1, 2, 2}, float, Pooling>;
using PooledStem =
    PooledConvolution<StemWinogradConvolution<ConvShape{3, 64, 1, {3, 3, 3}}, float, float, Maximum>, Maximum>;
extern void (*const pooled_convolution)(const PooledStem::Arguments&, const Pooling&, int64_t, int64_t, void*);
void (*const pooled_convolution)(const PooledStem::Arguments&, const Pooling&, int64_t, int64_t,
                                 void*) = &call<PooledStem, Pooling>;
struct LightRowBias : RowBias {
  static constexpr bool is_light = true;
};
using PlanarCall = void (*)(const ConvArguments<float, float>&, const RowBias&, int64_t, int64_t, void*);
template <int64_t inputs, int64_t outputs>
constexpr PlanarCall planar =
    &call<PlanarConvolution<ConvShape{inputs, outputs, 1, {3, 3, 3}}, float, float, RowBias, 3>, RowBias>;
extern const PlanarCall planar_convolutions[];
const PlanarCall planar_convolutions[] = {planar<1, 1>, planar<2, 2>, planar<3, 3>, planar<4, 4>};
using LightPlanarCall = void (*)(const ConvArguments<float, float>&, const LightRowBias&, int64_t, int64_t, void*);
template <int64_t inputs, int64_t outputs, Axes kernel, class Epilogue = LightRowBias>
constexpr auto planar_winograd =
    &call<PlanarWinogradConvolution<ConvShape{inputs, outputs, 1, kernel}, float, float, Epilogue, 3>, Epilogue>;
extern const LightPlanarCall planar_winograd_convolutions[];
const LightPlanarCall planar_winograd_convolutions[] = {
    planar_winograd<1, 16, {9, 9, 1}>, planar_winograd<3, 3, {3, 3, 3}>, planar_winograd<3, 4, {3, 5, 1}>,
    planar_winograd<2, 1, {3, 3, 3}>};
extern const PlanarCall planar_winograd_with_others;
const PlanarCall planar_winograd_with_others = planar_winograd<1, 16, {9, 9, 1}, RowBias>;
template <int64_t inputs, int64_t outputs, bool is_transposed, Axes kernel, Axes stride>
constexpr PlanarCall to_rows =
    &call<ConvolutionToRows<ConvShape{inputs, outputs, 1, kernel, stride}, float, float, RowBias, is_transposed, 3>,
          RowBias>;
extern const PlanarCall convolutions_to_rows[];
const PlanarCall convolutions_to_rows[] = {
    to_rows<32, 3, true, {3, 3, 3}, {2, 2, 2}>, to_rows<32, 4, true, {3, 3, 3}, {2, 2, 2}>,
    to_rows<32, 2, true, {2, 2, 2}, {2, 2, 2}>, to_rows<32, 3, false, {1, 1, 1}, {1, 1, 1}>,
    to_rows<32, 1, false, {3, 3, 3}, {1, 1, 1}>, to_rows<64, 4, false, {3, 3, 3}, {1, 1, 1}>};
using ProductCall = void (*)(const MatmulArguments<float, float, float>&, const RowBias&, int64_t, int64_t, void*);
extern const ProductCall products[];
const ProductCall products[] = {&call<MatrixProduct<float, float, float, RowBias, true>, RowBias>,
                                &call<MatrixProduct<float, float, float, RowBias, false>, RowBias>};

using Epilogues = TwoEpilogues<LightRowBias, RowBias>;
using AttentionCall = void (*)(const AttentionArguments<float, float>&, const Epilogues&, int64_t, int64_t, void*);
extern const AttentionCall attentions[];
const AttentionCall attentions[] = {&call<Attention<0, float, float, Epilogues>, Epilogues>, &call<Attention<1, float, float, Epilogues>, Epilogues>,
                                    &call<Attention<lanes / 4, float, float, Epilogues>, Epilogues>,
                                    &call<Attention<lanes / 2, float, float, Epilogues>, Epilogues>};
using SoftmaxCall = void (*)(const SoftmaxArguments<float, float>&, int64_t, int64_t, void*);
extern const SoftmaxCall softmaxes[];
const SoftmaxCall softmaxes[] = {&RowSoftmax<float, float, false>::run, &RowSoftmax<float, float, true>::run};

struct OfIntegers {
  vec_int32 operator()(vec_int32 sum, const Position&) const { return sum; }
};
using BytesCall = void (*)(const ByteConvArguments<uint8_t, int32_t>&, const OfIntegers&, int64_t, int64_t, void*);
template <int64_t inputs, int64_t outputs, Axes kernel, Axes stride>
constexpr BytesCall of_bytes = &call<Int8Convolution<ConvShape{inputs, outputs, 1, kernel, stride}, uint8_t, int32_t, OfIntegers>, OfIntegers>;
template <int64_t inputs, int64_t outputs, Axes tile>
constexpr BytesCall of_bytes_by_winograd = &call<Int8WinogradConvolution<ConvShape{inputs, outputs, 1, {3, 3, 3}}, uint8_t, int32_t, OfIntegers, tile>, OfIntegers>;
extern const BytesCall convolutions_of_bytes[];
const BytesCall convolutions_of_bytes[] = {of_bytes<64, 128, {3, 3, 3}, {2, 2, 2}>, of_bytes<54, lanes, {1, 3, 3}, {1, 1, 1}>, of_bytes_by_winograd<64, 64, {2, 4, 4}>, of_bytes_by_winograd<128, 3 * lanes, {2, 2, 2}>};
#if defined(__AVX512F__)  // with AVX2 bytes are floats
extern const BytesCall depthwise_of_bytes[];
template <Axes kernel, Axes stride>
constexpr BytesCall depthwise = &call<DepthwiseInt8Convolution<ConvShape{54, 54, 54, kernel, stride}, uint8_t, int32_t, OfIntegers>, OfIntegers>;
const BytesCall depthwise_of_bytes[] = {depthwise<{3, 3, 3}, {1, 1, 1}>, depthwise<{3, 3, 3}, {1, 2, 2}>, depthwise<{1, 5, 5}, {1, 1, 1}>};
#endif
struct OfIntegerRows {
  vec_int32 operator()(vec_int32 sum, const MatrixPosition&) const { return sum; }
};
using ByteMatricesCall = void (*)(const PackedMatmulArguments<uint8_t, uint8_t, int32_t>&, const OfIntegerRows&, int64_t, int64_t, void*);
extern const ByteMatricesCall products_of_bytes[];
const ByteMatricesCall products_of_bytes[] = {&call<ByteMatrixProduct<uint8_t, int32_t, OfIntegerRows>, OfIntegerRows>};

// More accumulators than there are registers: the check must find it.
[[gnu::used]] void too_large(const float* v, const float* u, float* m) { winograd_multiply<20, 2>(v, 16, u, u, 64, 64, m); }

}  // namespace onnxc::kernels
)";
constexpr const char* spilling_kernel = "winograd_multiply<20, 2>";

// For activations of 16 bits: those that are widened, and on a machine with the instruction pairs of bfloat16. Not
// read: the last tile of a row of one tap, whose voxels are copied; with pairs and channels that fill no block its sums
// leave the registers around each copy.
constexpr const char* source_of_16_bits = R"(
#include "kernels/cpu/conv/conv_direct.h"
#include "kernels/cpu/conv/conv_direct_instances.cpp"

namespace onnxc::kernels {

struct BiasRelu {
  static constexpr bool is_light = true;
  const float* bias;
  vec operator()(vec x, const Position& p) const {
    return maximum(splat(0.0f), x + load(bias + p.channel_block * lanes));
  }
};
#if defined(__AVX512BF16__)
constexpr bool multiplies_pairs = true;
#else
constexpr bool multiplies_pairs = false;
#endif
using Weight = PackedWeight<multiplies_pairs>::Type;
using Call = void (*)(const ConvArguments<bfloat16_t, bfloat16_t, Weight>&, const BiasRelu&, int64_t, int64_t, void*);
template <int64_t inputs, int64_t outputs, Axes kernel, Axes stride>
constexpr Call convolution = &DirectConvolution<ConvShape{inputs, outputs, 1, kernel, stride}, bfloat16_t, bfloat16_t,
                                                BiasRelu, false, multiplies_pairs>::run;
extern const Call convolutions[];
const Call convolutions[] = {
    convolution<64, 128, {3, 3, 3}, {2, 2, 2}>, convolution<64, 3 * lanes, {1, 1, 1}, {1, 1, 1}>,
    convolution<54, 24, {1, 3, 3}, {1, 1, 1}>, convolution<32, 3, {3, 3, 3}, {1, 1, 1}>};

}  // namespace onnxc::kernels
)";

// For a machine with matrix tiles.
constexpr const char* source_of_tiles = R"(
#include "kernels/cpu/conv_tiles/conv_tiles.h"
#include "kernels/cpu/matmul_tiles/matmul_tiles.h"

namespace onnxc::kernels {

struct BiasRelu {
  static constexpr bool is_light = true;
  const float* bias;
  vec operator()(vec x, const Position& p) const {
    return maximum(splat(0.0f), x + load(bias + p.channel_block * lanes));
  }
};
using Call = void (*)(const ConvArguments<bfloat16_t, bfloat16_t, bfloat16_t>&, const BiasRelu&, int64_t, int64_t, void*);
template <int64_t inputs, int64_t outputs, Axes kernel, Axes stride>
constexpr Call convolution =
    &TilesConvolution<ConvShape{inputs, outputs, 1, kernel, stride}, bfloat16_t, bfloat16_t, BiasRelu>::run;
extern const Call convolutions[];
const Call convolutions[] = {
    convolution<64, 128, {3, 3, 3}, {2, 2, 2}>, convolution<64, 64, {1, 1, 1}, {1, 1, 1}>,
    convolution<54, 24, {1, 3, 3}, {1, 1, 1}>};

struct Rounded {
  static constexpr bool is_light = true;
  vec_int32 operator()(vec_int32 sum, const Position&) const { return saturated<uint8_t>(to_float(sum) * splat(0.5f)); }
};
using ByteCall = void (*)(const ByteConvArguments<uint8_t, uint8_t>&, const Rounded&, int64_t, int64_t, void*);
extern const ByteCall convolutions_of_bytes[];
const ByteCall convolutions_of_bytes[] = {
    &TilesConvolution<ConvShape{64, 64, 1, {3, 3, 3}}, uint8_t, uint8_t, Rounded, TilesOfBytes>::run};

using DigitCall = void (*)(const ConvArguments<float, float, uint8_t>&, const BiasRelu&, int64_t, int64_t, void*);
extern const DigitCall convolutions_of_digits[];
const DigitCall convolutions_of_digits[] = {
    &TilesConvolution<ConvShape{64, 64, 1, {3, 3, 3}}, float, float, BiasRelu, TilesOfDigits>::run};

using ProductCall = void (*)(const PackedMatmulArguments<bfloat16_t, bfloat16_t, bfloat16_t>&, const NoMatrixEpilogue&,
                             int64_t, int64_t, void*);
extern const ProductCall product;
const ProductCall product = &TilesMatrixProduct<bfloat16_t, bfloat16_t, NoMatrixEpilogue, TilesOfBfloat16>::run;
using DigitProductCall = void (*)(const PackedMatmulArguments<float, uint8_t, float>&, const NoMatrixEpilogue&, int64_t,
                                  int64_t, void*);
extern const DigitProductCall product_of_digits;
const DigitProductCall product_of_digits = &TilesMatrixProduct<float, float, NoMatrixEpilogue, TilesOfDigits>::run;

}  // namespace onnxc::kernels
)";

struct Function {
  std::string name;
  std::vector<std::string> instructions;
  std::map<std::string, size_t> labels;  // the instruction that each stands before
};

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? text.get() : symbol;
}

std::vector<Function> functions_of(const std::string& assembly) {
  static const std::regex symbol(R"(^([A-Za-z_][\w.$]*):.*)"), label(R"(^(\.L\w+):.*)");
  std::vector<Function> functions;
  std::istringstream lines(assembly);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.rfind(".Lfunc_end", 0) == 0) {
      inside = false;
    } else if (std::regex_match(line, match, symbol)) {
      functions.push_back({demangled(match[1]), {}, {}});
      inside = true;
    } else if (inside && std::regex_match(line, match, label)) {
      functions.back().labels[match[1]] = functions.back().instructions.size();
    } else if (inside && line.size() > 1 && line[0] == '\t' && line[1] != '.' && line[1] != '#') {
      functions.back().instructions.push_back(line.substr(1, line.find('#') - 1));
    }
  }
  return functions;
}

// A loop is what lies between a label and a later jump to it: [first, last] of the instructions. Only those that hold
// no other loop.
std::vector<std::pair<size_t, size_t>> innermost_loops(const Function& function) {
  static const std::regex jump(R"(^j\w+\s+(\.L\w+).*)");
  std::vector<std::pair<size_t, size_t>> loops;
  for (size_t i = 0; i < function.instructions.size(); ++i) {
    std::smatch match;
    if (!std::regex_match(function.instructions[i], match, jump)) continue;
    const auto target = function.labels.find(match[1]);
    if (target != function.labels.end() && target->second <= i) loops.emplace_back(target->second, i);
  }
  std::vector<std::pair<size_t, size_t>> innermost;
  for (const auto& loop : loops) {
    const bool holds_another = std::ranges::any_of(loops, [&](const auto& other) {
      return other != loop && other.first >= loop.first && other.second <= loop.second;
    });
    if (!holds_another) innermost.push_back(loop);
  }
  return innermost;
}

struct HotLoop {
  std::string function;
  int multiply_adds = 0;
  int on_stack = 0;                 // instructions that read or write the stack
  std::vector<std::string> spills;  // those among them with a vector
};

std::vector<HotLoop> hot_loops(const std::string& assembly) {
  constexpr int least_multiply_adds = 4;  // less is a tail
  std::vector<HotLoop> result;
  for (const Function& function : functions_of(assembly)) {
    for (const auto& [first, last] : innermost_loops(function)) {
      HotLoop loop{function.name, 0, 0, {}};
      for (size_t i = first; i <= last; ++i) {
        const std::string& instruction = function.instructions[i];
        const bool multiplies =
            std::ranges::any_of(std::array{"vfm", "vfnm", "vdpbf16ps", "vpdpbusd", "vpdpwssd", "vpmaddwd"},
                                [&](const char* mnemonic) { return instruction.starts_with(mnemonic); });
        loop.multiply_adds += multiplies ? 1 : 0;
        // Without frame pointers rbp is like any other. With an index it is an array, whose place no spill has.
        if (instruction.find("(%rsp)") == std::string::npos) continue;
        ++loop.on_stack;
        if (instruction.find("mm") != std::string::npos) loop.spills.push_back(instruction);
      }
      if (loop.multiply_adds >= least_multiply_adds) result.push_back(std::move(loop));
    }
  }
  return result;
}

std::string compile_to_assembly(const char* text, const std::string& march) {
  const TemporaryFolder folder("hot-loops");
  const std::filesystem::path input = folder.path() / "kernels.cpp", output = folder.path() / "kernels.s";
  write_file(input, text);
  std::vector<std::string> command =
      compile_command(Compiler(), resolve_march(march), find_parts(), input.string(), output.string());
  std::ranges::replace(command, "-c", "-S");
  const ProcessResult result = run_process(command);
  EXPECT_TRUE(result.succeeded()) << result.errors;
  std::ifstream file(output);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string march_name(const testing::TestParamInfo<const char*>& info) {
  const std::string march = info.param;
  return march == "znver4" ? "Zen4" : march == "x86-64-v3" ? "Avx2" : "Avx512";
}

class HotLoops : public testing::TestWithParam<const char*> {};

TEST_P(HotLoops, KeepNoVectorOnTheStack) {
  const std::vector<HotLoop> loops = hot_loops(compile_to_assembly(source, GetParam()));
  constexpr int register_tile = 24;  // multiply-adds in the loop of a whole tile; transforms have fewer
  int tiles = 0;
  bool found_the_spilling_one = false;
  for (const HotLoop& loop : loops) {
    if (loop.function.find(spilling_kernel) != std::string::npos) {
      found_the_spilling_one |= !loop.spills.empty();
      continue;
    }
    if (!loop.spills.empty())
      ADD_FAILURE() << loop.function << ": " << loop.spills.size() << " spills in a loop of " << loop.multiply_adds
                    << " multiply-adds, the first: " << loop.spills.front();
    // Pointers of a tile's voxels may wait in a table on the stack; more than that is a loop short of registers.
    if (loop.multiply_adds >= register_tile) {
      ++tiles;
      EXPECT_LE(2 * loop.on_stack, loop.multiply_adds) << loop.function;
    }
  }
  EXPECT_GE(tiles, 30) << "too few loops with multiply-adds: is the assembly read right?";
  EXPECT_TRUE(found_the_spilling_one) << "the check did not see a tile that cannot fit the registers";
}

class HotLoopsOf16Bits : public testing::TestWithParam<const char*> {};

TEST_P(HotLoopsOf16Bits, KeepNoVectorOnTheStack) {
  const std::string march = GetParam(), assembly = compile_to_assembly(source_of_16_bits, march);
  EXPECT_EQ(assembly.find("vdpbf16ps") != std::string::npos, march == "znver4");
  int tiles = 0;
  for (HotLoop& loop : hot_loops(assembly)) {
    // Widened or copied voxels are an array on the stack, whose elements are read through a pointer, and what is known
    // of a tile's voxels (offsets, masks) is read in parts. A spilled sum, weight or broadcast is a whole vector that
    // comes back from its place.
    std::erase_if(loop.spills, [&](const std::string& instruction) {
      const bool is_store = instruction.substr(0, instruction.find_last_not_of(" \t") + 1).ends_with("(%rsp)");
      return is_store || instruction.find(march == "x86-64-v3" ? "%ymm" : "%zmm") == std::string::npos;
    });
    if (!loop.spills.empty())
      ADD_FAILURE() << loop.function << ": " << loop.spills.size() << " spills in a loop of " << loop.multiply_adds
                    << " multiply-adds, the first: " << loop.spills.front();
    tiles += loop.multiply_adds >= 24 ? 1 : 0;
  }
  EXPECT_GE(tiles, 4);
}

// A step is a load of weights and six of voxels for six products, of digits three and three for eight; and one spare
// store. Sums of bytes begin with a load.
// A tile that does not fit the registers would be stored and loaded again, and the compiler may not do so without a
// word.
TEST(HotLoopsOfTiles, LoadEachTileOnceAStep) {
  const std::string assembly = compile_to_assembly(source_of_tiles, "sapphirerapids");
  int64_t steps = 0;
  for (const Function& function : functions_of(assembly)) {
    const auto count = [&](const char* mnemonic) {
      return std::ranges::count_if(function.instructions,
                                   [&](const std::string& instruction) { return instruction.starts_with(mnemonic); });
    };
    const int64_t of_bytes = count("tdpbusd"), of_digits = count("tdpbssd"), accumulators = 6;
    const int64_t products = count("tdpbf16ps") + of_bytes + of_digits;
    if (products == 0) continue;
    const int64_t loads = count("tileloadd") - (of_bytes > 0 ? accumulators : 0);
    // A step of digits: six loads for eight products, of the second set seven for nine.
    const bool is_second = loads * 9 == products * 7;
    const int64_t loads_of_a_step = of_digits == 0 ? accumulators + 1 : is_second ? 7 : 6;
    const int64_t products_of_a_step = of_digits == 0 ? accumulators : is_second ? 9 : 8;
    steps += loads / loads_of_a_step;
    EXPECT_EQ(loads % loads_of_a_step, 0) << function.name;
    EXPECT_EQ(products, loads / loads_of_a_step * products_of_a_step) << function.name;
    EXPECT_LE(count("tilestored"), loads / loads_of_a_step + accumulators) << function.name;
  }
  EXPECT_GE(steps, 6) << "a convolution has no products: is the assembly read right?";
}

INSTANTIATE_TEST_SUITE_P(Architectures, HotLoopsOf16Bits, testing::Values("x86-64-v3", "x86-64-v4", "znver4"),
                         march_name);
INSTANTIATE_TEST_SUITE_P(Architectures, HotLoops, testing::Values("x86-64-v3", "x86-64-v4", "znver4"), march_name);

}  // namespace
}  // namespace onnxc
