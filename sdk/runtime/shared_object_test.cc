#include "atoll/runtime/shared_object.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "atoll/testing/temporary_directory.h"

namespace atl::runtime {
namespace {

class SharedObjectTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder.path() / name, std::ios::binary) << bytes;
    return (folder.path() / name).string();
  }
  /// A fixture under a name of this test's own. As an installer replaces a file: a rename over it.
  std::string place(const char* fixture, const std::string& name) {
    std::filesystem::copy_file(fixture, folder.path() / "new");
    std::filesystem::rename(folder.path() / "new", folder.path() / name);
    return (folder.path() / name).string();
  }
  static int answer(const SharedObject& object) {
    auto* function = reinterpret_cast<int (*)()>(object.symbol("fixture_answer"));
    return function == nullptr ? 0 : function();
  }
  test::TemporaryDirectory folder;
};

TEST_F(SharedObjectTest, IdentityChangesWithTheFile) {
  std::string path = write("x", "one");
  FileIdentity first = inspect_shared_object(path).value();
  EXPECT_EQ(first, inspect_shared_object(path).value());
  write("y", "one");
  std::filesystem::rename(folder.path() / "y", path);
  EXPECT_NE(first, inspect_shared_object(path).value());
}

TEST_F(SharedObjectTest, OnlyRegularFiles) {
  std::string fifo = (folder.path() / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(inspect_shared_object(fifo).status().text(), fifo + ": not a regular file");
  EXPECT_EQ(inspect_shared_object("/dev/null").status().text(), "/dev/null: not a regular file");
  EXPECT_EQ(inspect_shared_object("/nowhere/x").status().text(),
            "cannot open /nowhere/x: No such file or directory");
}

TEST_F(SharedObjectTest, HeadersThatLieAreRefused) {
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
      inspect_shared_object(write("a", bytes(header))).status().text().find("truncated: its program headers"),
      std::string::npos);
  header.e_phoff = sizeof header;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_offset = UINT64_MAX - 1;
  segment.p_filesz = 16;
  EXPECT_NE(
      inspect_shared_object(write("b", bytes(header) + bytes(segment))).status().text().find("but segment 0"),
      std::string::npos);
  segment.p_offset = 0;
  header.e_shoff = UINT64_MAX - 1;
  EXPECT_NE(
      inspect_shared_object(write("c", bytes(header) + bytes(segment))).status().text().find("section table"),
      std::string::npos);
  header.e_shoff = 0;
  EXPECT_TRUE(inspect_shared_object(write("d", bytes(header) + bytes(segment))).ok());
  header.e_type = ET_EXEC;
  EXPECT_NE(inspect_shared_object(write("e", bytes(header) + bytes(segment)))
                .status()
                .text()
                .find("not a shared object"),
            std::string::npos);
}

TEST_F(SharedObjectTest, FindsWhatItExports) {
  auto object = SharedObject::open(place(ATOLL_FIXTURE_ONE, "x.so"));
  ASSERT_TRUE(object.ok()) << object.status().text();
  EXPECT_EQ(answer(*object), 1);
  EXPECT_EQ(object->symbol("fixture_none"), nullptr);
  EXPECT_EQ(SharedObject().symbol("fixture_answer"), nullptr);
}

TEST_F(SharedObjectTest, AReplacedFileIsAnotherObject) {
  std::string path = place(ATOLL_FIXTURE_ONE, "x.so");
  auto first = SharedObject::open(path);
  auto same = SharedObject::open(path);
  place(ATOLL_FIXTURE_TWO, "x.so");
  auto second = SharedObject::open(path);
  ASSERT_TRUE(first.ok() && same.ok() && second.ok());
  EXPECT_EQ(first->symbol("fixture_answer"), same->symbol("fixture_answer"));
  EXPECT_EQ(answer(*first), 1);
  EXPECT_EQ(answer(*second), 2);
}

TEST_F(SharedObjectTest, SaysWhatIsWrong) {
  std::string text = write("text.so", std::string(4096, 'x'));
  EXPECT_EQ(SharedObject::open(text).status().text(), text + ": invalid ELF header");
  std::string empty = write("empty.so", "");
  EXPECT_EQ(SharedObject::open(empty).status().text(), empty + ": file too short");
  std::string undefined = place(ATOLL_FIXTURE_UNDEFINED, "undefined.so");
  EXPECT_EQ(SharedObject::open(undefined).status().text(),
            undefined + ": undefined symbol: fixture_that_nobody_has");
}

TEST_F(SharedObjectTest, NoTruncatedFileIsFatal) {
  std::string whole = place(ATOLL_FIXTURE_ONE, "x.so");
  const auto size = std::filesystem::file_size(whole);
  for (uintmax_t kept = 0; kept < size; kept += size / 97 + 1) {
    std::string path = place(ATOLL_FIXTURE_ONE, cat("cut", kept, ".so"));
    std::filesystem::resize_file(path, kept);
    EXPECT_EQ(SharedObject::open(path).status().code(), Code::kFailedPrecondition) << kept;
  }
}

}  // namespace
}  // namespace atl::runtime
