// Which results a folder has, and from what each was made: so that the same command, started again, makes those that
// are missing and no others.
//
// The record is a file of the folder, a line of JSON for each result, only ever added to. A line is written before its
// result gets its name, so a command that is killed at any moment leaves at most a line without a result. A result is
// known by its size and its time of change, as by make and rsync; so are scans. Models are known by their contents.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "onnxc_run/options.h"

namespace onnxc {

class ResultRecord {
 public:
  static constexpr const char* file_name = ".onnxc-volumes.jsonl";

  // `folder` is there. Reads the record, and the model to know its contents.
  ResultRecord(const std::filesystem::path& folder, const RunOptions& options);

  // A file as it is at some time.
  struct Stamp {
    int64_t bytes, nanoseconds;
    bool operator==(const Stamp&) const = default;
  };
  // UserError if there is no file.
  static Stamp stamp_of(const std::filesystem::path& file);

  enum class State {
    missing,     // or it is not whole: to be made
    outdated,    // made by us from another scan, another model or other options: to be made anew
    current,     // nothing to do
    not_of_ours  // made by somebody else, or changed since: to be left alone
  };
  State state(const std::filesystem::path& target, const std::filesystem::path& scan) const;

  // Says that `finished`, which will be renamed to `target`, was made from the scan, which was `stamp` when it was
  // read. UserError if the record cannot be written.
  void add(const std::filesystem::path& target, const std::filesystem::path& finished,
           const std::filesystem::path& scan, const Stamp& stamp);

 private:
  struct Line {
    std::string result;  // its name in the folder
    Stamp result_stamp;
    std::string origin;  // scan, model and options
  };
  std::string origin_of(const std::filesystem::path& scan, const Stamp& stamp) const;
  void read();

  std::filesystem::path file_;
  std::string made_by_;  // of model and options
  std::vector<Line> lines_;
};

}  // namespace onnxc
