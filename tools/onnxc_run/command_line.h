#pragma once

#include <variant>

#include "onnxc_run/options.h"

namespace onnxc {

// The options; or an exit code if the command ends with --help or --version. Every mistake is a UsageError.
std::variant<RunOptions, int> parse_command_line(int argc, char** argv);

// Texts of options, separately for their tests. UsageError names the option.
//
// "N=4"
void parse_dim(const std::string& text, std::map<std::string, int64_t>& dims);
// "cpu", "gpu", which is the first GPU, or "gpu:1"; "hip" is a name for "gpu"
Device parse_device(const std::string& text);
// "x:1x1x96x96x96,y:3" or with commas inside, "x:1,3,224,224"; ":" of a name itself is kept ("a:0:1x3").
void parse_shapes(const std::string& text, std::map<std::string, std::vector<int64_t>>& shapes);
// "1e-4", or "out0:1e-4", several separated by commas.
void parse_tolerance(const std::string& option, const std::string& text, std::optional<double>& all,
                     std::map<std::string, double>& by_name);

}  // namespace onnxc
