#include "onnxc_run/volume/result_record.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <ranges>

#include "onnxc_run/volume/scan.h"
#include "support/diagnostics.h"
#include "support/file_descriptor.h"
#include "support/hash.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc {
namespace {

// All that a result depends on but the scan and the model. The number of threads is not among it, nor how many windows
// run at once.
std::string text_of(const VolumeOptions& options) {
  nlohmann::ordered_json json = {{"preset", options.preset},
                                 {"window", options.window},
                                 {"overlap", options.overlap.value_or(-1)},
                                 {"step", options.step.value_or(-1)},
                                 {"importance", options.importance},
                                 {"padding", options.padding},
                                 {"padding_value", options.padding_value},
                                 {"mirrored", options.mirrored},
                                 {"output_kind", options.output_kind},
                                 {"normalization", static_cast<int>(options.normalization)}};
  if (options.raw) json["raw"] = {options.raw->dims, static_cast<int>(options.raw->dtype)};
  if (options.clip) json["clip"] = *options.clip;
  if (options.normalization_by) json["normalization_by"] = *options.normalization_by;
  return json.dump();
}

std::string sha256_of(const std::string& text) { return sha256(std::as_bytes(std::span(text))); }

}  // namespace

ResultRecord::Stamp ResultRecord::stamp_of(const std::filesystem::path& file) {
  struct stat status;
  user_check(stat(file.c_str(), &status) == 0, "cannot read {}: {}", quote(file.string()), std::strerror(errno));
  return {status.st_size, int64_t{1'000'000'000} * status.st_mtim.tv_sec + status.st_mtim.tv_nsec};
}

ResultRecord::ResultRecord(const std::filesystem::path& folder, const RunOptions& options) : file_(folder / file_name) {
  made_by_ = sha256_of(sha256(map_file(options.model)->bytes()) + text_of(options.volume));
  read();
}

// A broken line, such as one that was cut off, says nothing.
void ResultRecord::read() {
  std::error_code failure;
  if (!std::filesystem::exists(file_, failure)) return;
  const std::shared_ptr<const MappedFile> contents = map_file(file_);
  for (const auto line : std::views::split(contents->text(), '\n')) {
    const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
    const auto has = [&](const char* key, auto is) { return json.contains(key) && (json[key].*is)(); };
    using Json = nlohmann::json;
    if (!json.is_object() || !has("result", &Json::is_string) || !has("bytes", &Json::is_number_integer) ||
        !has("nanoseconds", &Json::is_number_integer) || !has("origin", &Json::is_string))
      continue;
    lines_.push_back({json["result"], {json["bytes"], json["nanoseconds"]}, json["origin"]});
  }
}

std::string ResultRecord::origin_of(const std::filesystem::path& scan, const Stamp& stamp) const {
  std::error_code failure;
  const std::filesystem::path path = std::filesystem::canonical(scan, failure);
  return sha256_of(fmt::format("{} {} {} {}", made_by_, stamp.bytes, stamp.nanoseconds, path.string()));
}

ResultRecord::State ResultRecord::state(const std::filesystem::path& target, const std::filesystem::path& scan) const {
  std::error_code failure;
  if (!std::filesystem::exists(target, failure)) return State::missing;
  const Stamp stamp = stamp_of(target);
  const std::string name = target.filename().string();
  const auto line = std::ranges::find_if(
      lines_, [&](const Line& known) { return known.result == name && known.result_stamp == stamp; });
  if (line == lines_.end()) return is_whole_volume(target) ? State::not_of_ours : State::missing;
  // Reading a scan that is gone will be the error that it is.
  if (!std::filesystem::exists(scan, failure)) return State::outdated;
  return line->origin == origin_of(scan, stamp_of(scan)) ? State::current : State::outdated;
}

void ResultRecord::add(const std::filesystem::path& target, const std::filesystem::path& finished,
                       const std::filesystem::path& scan, const Stamp& stamp) {
  const Stamp result = stamp_of(finished);
  const std::string name = target.filename().string(), origin = origin_of(scan, stamp);
  const nlohmann::ordered_json json = {{"result", name},
                                       {"bytes", result.bytes},
                                       {"nanoseconds", result.nanoseconds},
                                       {"origin", origin},
                                       {"scan", scan.string()}};
  // One call, which other processes' lines do not come into; and a new line in front, should the last one be cut off.
  const std::string text = "\n" + json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const FileDescriptor file(open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  user_check(file.is_open(), "cannot write {}: {}", quote(file_.string()), std::strerror(errno));
  internal::write_all(file.get(), std::as_bytes(std::span(text)), quote(file_.string()));
  lines_.push_back({name, result, origin});
}

}  // namespace onnxc
