// Which files a command reads, so that none of its outputs replaces one: the one check for every input and output.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace onnxc {

// Files are known by device and inode, so that other spellings and links are found.
class InputFiles {
 public:
  // `option`: how the user gave it, such as "MODEL" or "--input". What is not there is left to whoever reads it.
  void add(const std::string& option, const std::filesystem::path& file);
  // Each file of a folder, and of the folders in it.
  void add_folder(const std::string& option, const std::filesystem::path& folder);

  // UserError where the output is one of the files. To be called before anything is read or made.
  void check_output(std::string_view option, const std::filesystem::path& output) const;
  // The same for a folder of outputs: for each of its files whose name may be written.
  void check_outputs(std::string_view option, const std::filesystem::path& folder,
                     const std::function<bool(const std::string&)>& may_be_written) const;

 private:
  struct Input {
    std::string option;
    std::filesystem::path file;
  };
  std::map<std::pair<dev_t, ino_t>, Input> files_;
};

}  // namespace onnxc
