#include "kernel/cli/word_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace atl::kernel {
namespace {

using testing::ElementsAre;
namespace fs = std::filesystem;

class WordProgramTest : public testing::Test {
 protected:
  WordProgramTest() { fs::create_directories(folder); }
  ~WordProgramTest() override { fs::remove_all(folder); }
  void write(const std::string& name, fs::perms mode = fs::perms::owner_all) {
    std::ofstream(folder / name) << "#!/bin/sh\n";
    fs::permissions(folder / name, mode);
  }
  std::string refusal(std::string_view word) { return find_program(folder.string(), word).status().text(); }
  fs::path folder = testing::TempDir() + "word_program_test_" + std::to_string(::getpid());
};

TEST_F(WordProgramTest, WordsAreThePrograms) {
  for (const char* name : {"atoll", "atoll-serve", "atoll-lint", "atollctl", "tritonserver"}) write(name);
  write("atoll-notes", fs::perms::owner_read);
  fs::create_directories(folder / "atoll-folder");
  fs::create_symlink("atoll-serve", folder / "atoll-demo");
  fs::create_symlink("nowhere", folder / "atoll-broken");
  EXPECT_THAT(program_words(folder.string()), ElementsAre("demo", "lint", "serve"));
  EXPECT_EQ(find_program(folder.string(), "serve").value(), (folder / "atoll-serve").string());
  EXPECT_EQ(find_program(folder.string(), "demo").value(), (folder / "atoll-demo").string());
}

TEST_F(WordProgramTest, AnUnknownWordIsOneLineWithTheNearest) {
  EXPECT_EQ(refusal("serve"), "unknown word 'serve' (see atoll --help)");
  write("atoll-serve");
  write("atoll-lint");
  EXPECT_EQ(refusal("sevre"),
            "unknown word 'sevre', did you mean 'serve'?; the words are lint, serve (see atoll --help)");
  EXPECT_EQ(refusal("models"), "unknown word 'models'; the words are lint, serve (see atoll --help)");
  for (const char* hostile : {"", ".", "..", "../bin/atoll-serve", "/bin/sh", "a\nb"}) {
    EXPECT_EQ(find_program(folder.string(), hostile).status().code(), Code::kNotFound) << hostile;
    EXPECT_EQ(refusal(hostile).find('\n'), std::string::npos);
  }
}

TEST_F(WordProgramTest, AProgramThatCannotRunSaysWhy) {
  std::ofstream(folder / "atoll-odd") << "no program";
  fs::permissions(folder / "atoll-odd", fs::perms::owner_all);
  const char* argv[] = {"atoll", "odd", nullptr};
  EXPECT_EQ(become_program(folder.string(), argv).text(),
            cat("cannot run ", folder.string(), "/atoll-odd: Exec format error"));
}

}  // namespace
}  // namespace atl::kernel
