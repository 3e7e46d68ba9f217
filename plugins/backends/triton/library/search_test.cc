#include "backends/triton/library/search.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "atoll/testing/temporary_directory.h"

namespace atl::triton {
namespace {

class LibrarySearchTest : public testing::Test {
 protected:
  LibrarySearchTest() {
    search_.model = "m";
    search_.backend = "b";
    search_.version_directory = root_ + "/models/m/1";
    search_.model_directory = root_ + "/models/m";
    search_.directories = {root_ + "/one", root_ + "/two"};
  }
  void put(const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << "x";
  }
  std::string found() const {
    Result<LibraryFile> file = find_library(search_);
    return file.ok() ? file->path.substr(root_.size() + 1) : file.status().text();
  }
  test::TemporaryDirectory folder_;
  std::string root_ = folder_.path().string();
  LibrarySearch search_;
};

TEST_F(LibrarySearchTest, TheFirstHitCounts) {
  EXPECT_EQ(
      found(),
      "unable to find backend library for backend 'b', try specifying runtime on the model configuration.");
  EXPECT_EQ(find_library(search_).status().code(), Code::kNotFound);
  for (const char* path : {"two/b/libtriton_b.so", "one/b/libtriton_b.so", "models/m/libtriton_b.so",
                           "models/m/1/libtriton_b.so"}) {
    put(path);
    EXPECT_EQ(found(), path);
  }
  search_.in_models = false;
  EXPECT_EQ(found(), "one/b/libtriton_b.so");
}

TEST_F(LibrarySearchTest, FolderAndBackendDirectoryOfALibrary) {
  put("two/b/libtriton_b.so");
  LibraryFile shared = find_library(search_).value();
  EXPECT_EQ(shared.artifacts, root_ + "/two/b");
  EXPECT_EQ(shared.backend_directory, root_ + "/two");
  EXPECT_EQ(shared.script, "");
  put("models/m/libtriton_b.so");
  LibraryFile own = find_library(search_).value();
  EXPECT_EQ(own.artifacts, root_ + "/models/m");
  EXPECT_EQ(own.backend_directory, root_ + "/one");
  search_.directories.clear();
  EXPECT_EQ(find_library(search_)->backend_directory, "");
}

TEST_F(LibrarySearchTest, RuntimeNamesTheFile) {
  put("two/b/libtriton_b.so");
  search_.runtime = "other.so";
  EXPECT_EQ(found(), "unable to find backend library 'other.so' for model 'm', searched: '" + root_ +
                         "/models/m/1' '" + root_ + "/models/m' '" + root_ + "/one/b' '" + root_ +
                         "/two/b' ");
  put("two/b/other.so");
  EXPECT_EQ(found(), "two/b/other.so");
  for (const char* outside : {"../b/other.so", "/etc/passwd", "..", "sub/other.so"}) {
    search_.runtime = outside;
    EXPECT_EQ(found(), cat("backend library name '", outside,
                           "' escapes backend directory of backend 'b', for model 'm', check model config "
                           "runtime field"));
  }
  search_.runtime.clear();
  search_.backend = "../b";
  EXPECT_EQ(found(), "backend name '../b' of model 'm' is not a name of a folder");
}

TEST_F(LibrarySearchTest, ScriptsAreRunByThePythonBackend) {
  put("two/b/model.py");
  EXPECT_EQ(found(), "unable to find backend library 'libtriton_python.so' for model 'm', searched: '" +
                         root_ + "/models/m/1' '" + root_ + "/models/m' '" + root_ + "/one/b' '" + root_ +
                         "/two/b' '" + root_ + "/one/python' '" + root_ + "/two/python' ");
  put("one/python/libtriton_python.so");
  LibraryFile file = find_library(search_).value();
  EXPECT_EQ(file.path, root_ + "/one/python/libtriton_python.so");
  EXPECT_EQ(file.artifacts, root_ + "/two/b");
  EXPECT_EQ(file.script, root_ + "/two/b/model.py");
  EXPECT_EQ(file.backend_directory, root_ + "/one");
  EXPECT_EQ(file.environment, "");
  put("two/b/pb_exec_env_model.py.tar.gz");
  EXPECT_EQ(find_library(search_)->environment, root_ + "/two/b/pb_exec_env_model.py.tar.gz");
  put("two/b/libtriton_python.so");
  EXPECT_EQ(found(), "two/b/libtriton_python.so");
  put("one/b/libtriton_b.so");
  EXPECT_EQ(found(), "one/b/libtriton_b.so");
  search_.runtime = "model.py";
  EXPECT_EQ(found(), "two/b/libtriton_python.so");
}

TEST_F(LibrarySearchTest, TheModelsOwnScriptIsNoBackend) {
  put("models/m/1/model.py");
  put("one/python/libtriton_python.so");
  EXPECT_EQ(find_library(search_).status().code(), Code::kNotFound);
  search_.backend = "python";
  EXPECT_EQ(found(), "one/python/libtriton_python.so");
  EXPECT_EQ(find_library(search_)->script, "");
}

}  // namespace
}  // namespace atl::triton
