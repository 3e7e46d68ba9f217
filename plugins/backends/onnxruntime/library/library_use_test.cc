#include "backends/onnxruntime/library/library_use.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>

#include "backends/onnxruntime/ort_api.h"
#include "backends/onnxruntime/testing/library_folders.h"

namespace atl::ort::test {
namespace {

using testing::HasSubstr;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kStaysMapped = true;
#else
constexpr bool kStaysMapped = false;
#endif

bool is_mapped(const std::string& file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(file)) return true;
  }
  return false;
}

class LibraryUseTest : public testing::Test {
 protected:
  Result<OrtLibrary> begin(const std::string& option = "") {
    return OrtLibrary::begin(option, folders_.places(), passed_over_);
  }
  std::string failure(const std::string& option = "") {
    return std::string(begin(option).status().message());
  }
  LibraryFolders folders_;
  std::vector<std::string> passed_over_;
};

TEST_F(LibraryUseTest, IsOpenAsLongAsSomebodyUsesIt) {
  const std::string file = folders_.put(folders_.capi(), "1.22.0");
  EXPECT_EQ(runtime_usable().code(), Code::kFailedPrecondition);
  {
    auto first = begin();
    ASSERT_TRUE(first.ok()) << first.status().text();
    EXPECT_EQ(first->text(), "1.22.0 of " + file);
    std::optional<OrtLibrary> second(begin().value());
    OrtLibrary moved(std::move(first).value());
    second.reset();
    EXPECT_TRUE(is_mapped(file));
    EXPECT_TRUE(runtime_usable().ok());
  }
  EXPECT_EQ(is_mapped(file), kStaysMapped);
  EXPECT_EQ(runtime_usable().code(), Code::kFailedPrecondition);
}

TEST_F(LibraryUseTest, ThereIsOneAProcess) {
  const std::string named = folders_.put(folders_.path(), "1.23.0"),
                    found = folders_.put(folders_.capi(), "1.22.0");
  {
    const auto used = begin(named);
    ASSERT_TRUE(used.ok()) << used.status().text();
    EXPECT_TRUE(begin(named).ok());
    EXPECT_TRUE(begin(cat(folders_.path().string(), "/./libonnxruntime.so.1.23.0")).ok()) << "the same file";
    for (const std::string& other : {std::string(), found, std::string("/nowhere/libonnxruntime.so")}) {
      EXPECT_EQ(begin(other).status().code(), Code::kFailedPrecondition);
      EXPECT_EQ(failure(other), cat("option library: found '", other, "', expected '", named,
                                    "': ONNX Runtime is in use from there, and there is one a process"));
    }
  }
  EXPECT_EQ(begin()->text(), "1.22.0 of " + found) << "nobody uses the other one any more";
}

TEST_F(LibraryUseTest, WhoeverLooksFindsWhatOthersHaveFound) {
  const std::string found = folders_.put(folders_.capi(), "1.22.0");
  const auto used = begin();
  ASSERT_TRUE(used.ok());
  folders_.put(folders_.capi(), "1.24.0");  // an upgrade meanwhile
  EXPECT_EQ(begin()->text(), "1.22.0 of " + found);
  EXPECT_TRUE(begin(found).ok());
}

TEST_F(LibraryUseTest, OfAnOptionNothingElseIsTried) {
  folders_.put(folders_.capi(), "1.22.0");
  const std::string old = folders_.put(folders_.path(), "1.20.0"),
                    text = folders_.put_text(folders_.path(), "1.30.0");
  EXPECT_EQ(begin("/nowhere/lib.so").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(failure("/nowhere/lib.so"),
            "option library: cannot open /nowhere/lib.so: No such file or directory");
  EXPECT_EQ(
      failure(old),
      cat("option library: ", old,
          ": found ONNX Runtime 1.20.0, expected 1.21 or newer; to get one: pip install 'onnxruntime>=1.21'"));
  EXPECT_THAT(failure(text), HasSubstr(cat("option library: ", text, ": ")));
  EXPECT_THAT(failure("/proc/self/exe"), HasSubstr("option library: /proc/self/exe"));
  EXPECT_THAT(failure(ATOLL_CUDA_DOUBLE_PATH), HasSubstr("found no OrtGetApiBase, expected ONNX Runtime"));
  EXPECT_EQ(runtime_usable().code(), Code::kFailedPrecondition);
}

/// \returns what is wrong; 0: nothing
int keep(const std::string& file, const std::string& other) {
  std::vector<std::string> passed_over;
  {
    const auto used = OrtLibrary::begin(file, {}, passed_over);
    if (!used.ok()) return 1;
    keep_library_open();
  }
  if (!is_mapped(file)) return 2;
  if (OrtLibrary::begin(other, {}, passed_over).status().code() != Code::kFailedPrecondition) return 3;
  return OrtLibrary::begin(file, {}, passed_over).ok() ? 0 : 4;
}

TEST_F(LibraryUseTest, WhatIsKeptStaysTheOnlyOne) {
  const std::string file = folders_.put(folders_.path(), "1.22.0"),
                    other = folders_.put(folders_.path(), "1.23.0");
  const auto run = [&] {
    const int wrong = keep(file, other);
    std::filesystem::remove_all(folders_.path());
    std::_Exit(wrong);
  };
  // In a process of its own, which begins anew: what is kept cannot be given up.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace atl::ort::test
