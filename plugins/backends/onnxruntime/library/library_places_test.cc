#include "backends/onnxruntime/library/library_places.h"

#include <gmock/gmock.h>

#include "backends/onnxruntime/testing/library_folders.h"

namespace atl::ort::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const char* const kWay =
    "to get one: pip install 'onnxruntime>=1.21', or set the option library of backends/onnxruntime";

class LibraryPlacesTest : public testing::Test {
 protected:
  /// The file that is opened, or why none is.
  std::string found() { return found_in(folders_.places()); }
  std::string found_in(const LibraryPlaces& places) {
    passed_over_.clear();
    auto opened = open_first_library(places, passed_over_);
    if (opened.ok()) {
      EXPECT_NE(opened->api, nullptr);
      return opened->file;
    }
    EXPECT_EQ(opened.status().code(), Code::kUnavailable);
    return std::string(opened.status().message());
  }
  LibraryFolders folders_;
  std::vector<std::string> passed_over_;
};

TEST_F(LibraryPlacesTest, ThePackageComesBeforeTheInstallation) {
  const std::string engine = folders_.put(folders_.engine(), "1.21.0");
  EXPECT_EQ(found(), engine);
  const std::string package = folders_.put(folders_.capi(), "1.22.0");
  EXPECT_EQ(found(), package);
  EXPECT_THAT(passed_over_, IsEmpty());
}

TEST_F(LibraryPlacesTest, WithoutAnyTheFailureSaysWhereItLookedAndWhatToDo) {
  EXPECT_EQ(found(),
            cat("no ONNX Runtime can be used: there is none in ", folders_.engine().string(), "; ", kWay));
  std::filesystem::create_directories(folders_.packages());
  EXPECT_EQ(found(), cat("no ONNX Runtime can be used: there is none in ", folders_.capi().string(), ", ",
                         folders_.engine().string(), "; ", kWay));
}

TEST_F(LibraryPlacesTest, OneThatIsTooOldIsPassedOver) {
  const std::string old = folders_.put(folders_.capi(), "1.20.1");
  const std::string line = cat(old, ": found ONNX Runtime 1.20.1, expected 1.21 or newer");
  EXPECT_EQ(found(), cat("no ONNX Runtime can be used: ", line, "; there is none in ",
                         folders_.engine().string(), "; ", kWay));
  const std::string engine = folders_.put(folders_.engine(), "1.31.1");
  EXPECT_EQ(found(), engine);
  EXPECT_THAT(passed_over_, ElementsAre(line));
}

TEST_F(LibraryPlacesTest, WhatIsNoLibraryOrAnotherOneIsPassedOver) {
  const std::string text = folders_.put_text(folders_.capi(), "1.30.0");
  std::filesystem::create_directories(folders_.engine());
  const std::string other = folders_.engine() / "libonnxruntime.so.1.31.1";
  std::filesystem::create_symlink("/proc/self/exe", other);
  EXPECT_THAT(found(), HasSubstr(cat(text, ": ")));
  EXPECT_THAT(found(), HasSubstr(other));
  EXPECT_EQ(passed_over_.size(), 2u);
}

TEST_F(LibraryPlacesTest, OfOneFolderTheNewestIsTried) {
  folders_.put(folders_.capi(), "1.9.0");
  folders_.put(folders_.capi(), "1.30.2");
  const std::string newest = folders_.put(folders_.capi(), "1.31.1");
  folders_.put_text(folders_.capi(), "1.32.0.old");
  folders_.put_text(folders_.capi(), "");
  std::ofstream(folders_.capi() / "libonnxruntime_providers_shared.so") << "another";
  std::filesystem::create_directories(folders_.capi() / "libonnxruntime.so.1.40.0");
  EXPECT_EQ(found(), newest);
}

TEST_F(LibraryPlacesTest, OfTwoPythonsTheFirstThatFitsIsTaken) {
  LibraryPlaces places = folders_.places();
  const auto system = folders_.path() / "usr";
  const auto packages = system / "lib/python3.12/dist-packages/onnxruntime/capi";
  std::filesystem::create_directories(system / "bin");
  std::ofstream(system / "bin/python3") << "not run";
  std::filesystem::permissions(system / "bin/python3", std::filesystem::perms::owner_all);
  places.python.path = (system / "bin").string();
  const std::string second = folders_.put(packages, "1.25.0");
  EXPECT_EQ(found_in(places), second);
  const std::string old = folders_.put(folders_.capi(), "1.12.1");
  EXPECT_EQ(found_in(places), second);
  EXPECT_THAT(passed_over_, ElementsAre(HasSubstr(old)));
  const std::string first = folders_.put(folders_.capi(), "1.24.0");
  EXPECT_EQ(found_in(places), first);
  EXPECT_THAT(passed_over_, IsEmpty());
}

TEST_F(LibraryPlacesTest, AnInstallationIsFoundFromThePluginAndFromTheServer) {
  const LibraryPlaces installed =
      LibraryPlaces::of_process("/opt/atoll/lib/atoll/plugins/backends/onnxruntime.so");
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  EXPECT_THAT(installed.engines, ElementsAre("/opt/atoll/lib/atoll/engines/onnxruntime",
                                             cat(program, "/lib/atoll/engines/onnxruntime")));
  const LibraryPlaces own =
      LibraryPlaces::of_process(cat(program, "/lib/atoll/plugins/backends/onnxruntime.so"));
  EXPECT_EQ(own.engines.size(), 1u);
}

}  // namespace
}  // namespace atl::ort::test
