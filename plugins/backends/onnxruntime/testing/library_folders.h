/// Folders with ONNX Runtimes of any version in them, as users have them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "atoll/core/text.h"
#include "atoll/testing/temporary_directory.h"
#include "backends/onnxruntime/library/library_places.h"

namespace atl::ort::test {

class LibraryFolders {
 public:
  LibraryFolders() { std::filesystem::create_directories(path() / "lib/atoll/plugins/backends"); }

  std::filesystem::path path() const { return folder_.path(); }
  /// An active environment, and an installation.
  LibraryPlaces places() const {
    LibraryPlaces places =
        LibraryPlaces::of_process((path() / "lib/atoll/plugins/backends/onnxruntime.so").string());
    places.python.virtual_env = (path() / "environment").string();
    places.python.path = places.python.user_base = "";
    places.engines.resize(1);  // without that of this program
    return places;
  }
  std::filesystem::path packages() const { return path() / "environment/lib/python3.11/site-packages"; }
  std::filesystem::path capi() const { return packages() / "onnxruntime/capi"; }
  std::filesystem::path engine() const { return path() / "lib/atoll/engines/onnxruntime"; }

  /// A double, which is of the version. \returns its file
  static std::string put(const std::filesystem::path& folder, const std::string& version) {
    return copy(ATOLL_ONNXRUNTIME_NAMED, folder, version);
  }
  /// The real library. \returns its file
  static std::string put_real(const std::filesystem::path& folder, const std::string& version = "1") {
    return copy(ATOLL_ONNXRUNTIME, folder, version);
  }
  /// Something else of that name. \returns its file
  static std::string put_text(const std::filesystem::path& folder, const std::string& version) {
    const std::string file = file_in(folder, version);
    std::ofstream(file) << "no library";
    return file;
  }

 private:
  static std::string file_in(const std::filesystem::path& folder, const std::string& version) {
    std::filesystem::create_directories(folder);
    return (folder / cat("libonnxruntime.so", version.empty() ? "" : ".", version)).string();
  }
  /// No link: one file would be one library, whatever it is called.
  static std::string copy(const std::string& from, const std::filesystem::path& folder,
                          const std::string& version) {
    std::filesystem::copy_file(from, file_in(folder, version));
    return file_in(folder, version);
  }

  atl::test::TemporaryDirectory folder_;
};

}  // namespace atl::ort::test
