#include "kernel/loader/plugin_file.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "kernel/loader/memory_map.h"

namespace atl::kernel {
namespace {

class PluginFileTest : public testing::Test {
 protected:
  PluginFileTest() { std::filesystem::create_directories(folder / "role"); }
  ~PluginFileTest() override { std::filesystem::remove_all(folder); }
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return (folder / name).string();
  }
  std::filesystem::path folder = testing::TempDir() + "plugin_file_test_" + std::to_string(::getpid());
};

TEST_F(PluginFileTest, TheFirstFolderThatHasItWins) {
  write("role/x.so", "");
  std::string path = folder.string();
  EXPECT_EQ(find_plugin_file("role/x", "", {"/nowhere", path}).value(), path + "/role/x.so");
  EXPECT_EQ(find_plugin_file("role/x", "/some/file", {path}).value(), "/some/file");
  EXPECT_EQ(find_plugin_file("role/y", "", {"/a", "/b"}).status().text(),
            "no file role/y.so in the plugin path (/a, /b)");
  EXPECT_EQ(find_plugin_file("role/y", "", {}).status().text(),
            "no file role/y.so in the plugin path (which is empty)");
}

TEST_F(PluginFileTest, NamesStayInThePluginPath) {
  using std::string_view_literals::operator""sv;
  for (std::string_view use : {""sv, "/etc/x"sv, "../x"sv, "a/../../x"sv, "a/.."sv, "a\0b"sv}) {
    EXPECT_EQ(find_plugin_file(use, "", {folder.string()}).status().code(), Code::kInvalidArgument) << use;
  }
}

TEST_F(PluginFileTest, IdentityChangesWithTheFile) {
  std::string path = write("x", "one");
  FileIdentity first = inspect_plugin_file(path).value();
  EXPECT_EQ(first, inspect_plugin_file(path).value());
  write("y", "one");
  std::filesystem::rename(folder / "y", path);
  EXPECT_NE(first, inspect_plugin_file(path).value());
}

TEST_F(PluginFileTest, OnlyRegularFiles) {
  std::string fifo = (folder / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(inspect_plugin_file(fifo).status().text(), fifo + ": not a regular file");
  EXPECT_EQ(inspect_plugin_file("/dev/null").status().text(), "/dev/null: not a regular file");
  EXPECT_EQ(inspect_plugin_file("/nowhere/x").status().text(),
            "cannot open /nowhere/x: No such file or directory");
}

TEST_F(PluginFileTest, HeadersThatLieAreRefused) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  std::ifstream self("/proc/self/exe", std::ios::binary);
  Elf64_Ehdr own{};
  self.read(reinterpret_cast<char*>(&own), sizeof own);
  header.e_machine = own.e_machine;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_phoff = UINT64_MAX - 8;
  auto bytes = [](const auto& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  EXPECT_NE(
      inspect_plugin_file(write("a", bytes(header))).status().text().find("truncated: its program headers"),
      std::string::npos);
  header.e_phoff = sizeof header;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_offset = UINT64_MAX - 1;
  segment.p_filesz = 16;
  EXPECT_NE(
      inspect_plugin_file(write("b", bytes(header) + bytes(segment))).status().text().find("but segment 0"),
      std::string::npos);
  segment.p_offset = 0;
  header.e_shoff = UINT64_MAX - 1;
  EXPECT_NE(
      inspect_plugin_file(write("c", bytes(header) + bytes(segment))).status().text().find("section table"),
      std::string::npos);
  header.e_shoff = 0;
  EXPECT_TRUE(inspect_plugin_file(write("d", bytes(header) + bytes(segment))).ok());
  header.e_type = ET_EXEC;
  EXPECT_NE(inspect_plugin_file(write("e", bytes(header) + bytes(segment)))
                .status()
                .text()
                .find("not a shared object"),
            std::string::npos);
}

TEST(MemoryMap, KnowsWhatIsMapped) {
  auto code = mapped_file_at(reinterpret_cast<const void*>(&mapped_file_at));
  ASSERT_TRUE(code.has_value());
  EXPECT_TRUE(is_mapped(*code));
  EXPECT_FALSE(is_mapped("00:00 1"));
  int on_the_stack = 0;
  EXPECT_FALSE(mapped_file_at(&on_the_stack).has_value());
}

}  // namespace
}  // namespace atl::kernel
