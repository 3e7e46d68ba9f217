/// Files of keys: what they say, where they come from, and what is refused.
#include "atoll/lib/encryption_keys.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "atoll/core/file_descriptor.h"
#include "atoll/testing/print.h"
#include "atoll/testing/temporary_directory.h"

namespace atl {
namespace {

using test::TemporaryDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string digits(char digit) { return std::string(64, digit); }

TEST(EncryptionKeys, AreFoundByTheirIds) {
  auto keys = EncryptionKeys::parse(
      "# comment\n\na:" + digits('0') + "\r\nb-2:" + digits('A') + " \t\nc:" + digits('f'), true);
  ASSERT_TRUE(keys.ok()) << keys.status().text();
  EXPECT_THAT(keys->ids(), ElementsAre("a", "b-2", "c"));
  EXPECT_EQ((*keys->find("a"))[0], std::byte{0});
  EXPECT_EQ((*keys->find("b-2"))[31], std::byte{0xAA});
  EXPECT_EQ((*keys->find("c"))[0], std::byte{0xFF});
  EXPECT_FALSE(keys->find("d"));
  EXPECT_FALSE(EncryptionKeys().find("a"));
}

TEST(EncryptionKeys, OfALineThatCannotBeReadAreRefusedWithoutWhatStandsThere) {
  const std::string secret = digits('7');
  const auto refusal = [](const std::string& text) {
    return std::string(EncryptionKeys::parse(text, false).status().message());
  };
  for (const std::string& line :
       {secret, ":" + secret, "A:" + secret, "a b:" + secret, std::string(65, 'a') + ":" + secret}) {
    EXPECT_THAT(refusal("ok:" + digits('1') + "\n" + line), HasSubstr("line 2: expected 'ID:KEY'")) << line;
    EXPECT_THAT(refusal(line), Not(HasSubstr("777")));
  }
  for (const std::string& key : {secret + "7", secret.substr(1), secret.substr(1) + "x", std::string()}) {
    EXPECT_THAT(refusal("\na:" + key), HasSubstr("line 2: expected 64 hexadecimal digits behind 'a:'"));
    EXPECT_THAT(refusal("\na:" + key), Not(HasSubstr("777")));
  }
  EXPECT_THAT(refusal("a:" + secret + "\na:" + secret),
              HasSubstr("line 2: there is a key 'a' above already"));
  EXPECT_THAT(refusal(""), HasSubstr("found no key"));
  EXPECT_THAT(refusal("# nothing\n\n"), HasSubstr("found no key"));
}

TEST(EncryptionKeys, AreReadFromAFileOfTheirOwnersOnly) {
  const TemporaryDirectory folder;
  const std::string path = (folder.path() / "keys").string();
  const auto refusal = [&] { return std::string(EncryptionKeys::read(path, false).status().message()); };
  EXPECT_THAT(refusal(), HasSubstr("cannot be read: No such file"));
  std::ofstream(path) << "a:" << digits('1') << "\n";
  for (const mode_t mode : {0600, 0400, 0640, 0440}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(EncryptionKeys::read(path, true).ok()) << mode;
  }
  ASSERT_EQ(::chmod(path.c_str(), 0604), 0);
  EXPECT_THAT(refusal(), HasSubstr("is open to all users"));
  ASSERT_EQ(::chmod(path.c_str(), 0660), 0);
  EXPECT_THAT(refusal(), HasSubstr("may be written by its group"));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  std::ofstream(path) << "a:12\n";
  EXPECT_THAT(refusal(), HasSubstr(path + "', line 1: expected 64"));
  std::ofstream(path) << "a:" << digits('1') << "\n#" << std::string(65'536, ' ');
  EXPECT_THAT(refusal(), HasSubstr("more than 65536 bytes"));
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(refusal(), HasSubstr("something else than a plain file"));
}

TEST(EncryptionKeys, AreReadFromAFileDescriptorAgainAndFromAPipeOnce) {
  const TemporaryDirectory folder;
  const std::string path = (folder.path() / "keys").string();
  std::ofstream(path) << "a:" << digits('1') << "\n";
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  for (int i = 0; i < 2; ++i) EXPECT_THAT(EncryptionKeys::read(file.get(), false)->ids(), ElementsAre("a"));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const FileDescriptor from(ends[0]);
  {
    const FileDescriptor to(ends[1]);
    const std::string text = "b:" + digits('2');
    ASSERT_EQ(::write(to.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  EXPECT_THAT(EncryptionKeys::read(from.get(), false)->ids(), ElementsAre("b"));
  EXPECT_THAT(std::string(EncryptionKeys::read(from.get(), false).status().message()),
              HasSubstr("it is empty, as a pipe is that was read before"));
  const FileDescriptor directory(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_THAT(std::string(EncryptionKeys::read(directory.get(), false).status().message()),
              HasSubstr("something else than a file or a pipe"));
  EXPECT_THAT(std::string(EncryptionKeys::read(-1, false).status().message()), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace atl
