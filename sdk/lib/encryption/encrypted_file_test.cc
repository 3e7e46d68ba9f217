/// Encrypted files: whole ones, those that were changed, and one that another program made.
#include "atoll/lib/encrypted_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "atoll/lib/hex.h"
#include "atoll/models/model_files.h"
#include "atoll/testing/print.h"
#include "atoll/testing/temporary_directory.h"

namespace atl {
namespace {

using test::TemporaryDirectory;
using ::testing::HasSubstr;

constexpr uint32_t kChunk = 64;
constexpr size_t kWhole = kChunk + kEncryptionTagBytes;

std::array<std::byte, kEncryptionKeyBytes> key_from(uint8_t first) {
  std::array<std::byte, kEncryptionKeyBytes> key;
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(first + i);
  return key;
}

FileDescriptor file_of(const std::string& bytes) {
  FileDescriptor file(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
  return file;
}

std::string bytes_of(const FileDescriptor& file) {
  std::string bytes(static_cast<size_t>(::lseek(file.get(), 0, SEEK_END)), '\0');
  EXPECT_EQ(::pread(file.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  return bytes;
}

std::string plain_of(size_t size) {
  std::string plain(size, '\0');
  for (size_t i = 0; i < size; ++i) plain[i] = static_cast<char>(i * 7 + i / 251);
  return plain;
}

std::string encrypted(const std::string& plain, uint8_t key = 0, uint32_t chunk = kChunk) {
  const FileDescriptor from = file_of(plain), to = file_of({});
  const auto bytes = key_from(key);
  const Status status = encrypt_file(from.get(), to.get(), {"a", bytes, chunk, std::nullopt});
  EXPECT_TRUE(status.ok()) << status.text();
  return bytes_of(to);
}

/// The plain bytes, or the message of the failure.
struct Decrypted {
  Code code = Code::kOk;
  std::string text;
};

Decrypted decrypted(const std::string& bytes, uint8_t key = 0) {
  auto file = EncryptedFile::open(file_of(bytes), "f");
  if (!file.ok()) return {file.status().code(), std::string(file.status().message())};
  std::string plain(file->plain_bytes(), 'x');
  const Status status = file->decrypt(key_from(key), std::as_writable_bytes(std::span(plain)));
  if (status.ok()) return {Code::kOk, plain};
  EXPECT_EQ(plain, std::string(plain.size(), '\0')) << "nothing is left of a file that is refused";
  return {status.code(), std::string(status.message())};
}

TEST(EncryptedFile, IsReadAsItWasWritten) {
  for (size_t size = 0; size <= 4 * kChunk + 2; ++size) {
    const std::string plain = plain_of(size), bytes = encrypted(plain);
    const size_t chunks = size == 0 ? 1 : (size + kChunk - 1) / kChunk;
    ASSERT_EQ(bytes.size(), kEncryptedHeaderBytes + size + chunks * kEncryptionTagBytes);
    const Decrypted again = decrypted(bytes);
    ASSERT_EQ(again.code, Code::kOk) << again.text;
    ASSERT_EQ(again.text, plain);
  }
}

TEST(EncryptedFile, HasChunksOfOneMebibyte) {
  for (const size_t size : {(size_t{1} << 20) - 1, size_t{1} << 20, (size_t{1} << 20) + 1, size_t{3} << 20}) {
    const std::string plain = plain_of(size);
    const FileDescriptor from = file_of(plain), to = file_of({});
    const auto key = key_from(0);
    ASSERT_TRUE(encrypt_file(from.get(), to.get(), {"a", key, uint32_t{1} << 20, std::nullopt}).ok());
    const std::string bytes = bytes_of(to);
    EXPECT_EQ(bytes.size(),
              kEncryptedHeaderBytes + size + (size + (1 << 20) - 1) / (1 << 20) * kEncryptionTagBytes);
    EXPECT_EQ(decrypted(bytes).text, plain);
  }
}

TEST(EncryptedFile, IsNeverTheSameTwice) {
  const std::string one = encrypted("plain"), two = encrypted("plain");
  EXPECT_NE(one.substr(16, kEncryptionSaltBytes), two.substr(16, kEncryptionSaltBytes));
  EXPECT_NE(one.substr(kEncryptedHeaderBytes), two.substr(kEncryptedHeaderBytes));
}

TEST(EncryptedFile, WithAnyBitChangedIsRefused) {
  const std::string bytes = encrypted(plain_of(2 * kChunk + 5));
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      const Decrypted found = decrypted(changed);
      ASSERT_NE(found.code, Code::kOk) << "byte " << at << ", bit " << bit;
      ASSERT_THAT(found.text, HasSubstr("model file 'f'"));
    }
  }
}

TEST(EncryptedFile, OfAnyOtherLengthIsRefused) {
  const std::string bytes = encrypted(plain_of(2 * kChunk + 5));
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_NE(decrypted(bytes.substr(0, size)).code, Code::kOk) << "cut to " << size;
  for (size_t more = 1; more <= 2 * kWhole; ++more)
    ASSERT_NE(decrypted(bytes + std::string(more, '\0')).code, Code::kOk) << more << " bytes more";
}

TEST(EncryptedFile, SaysWhatIsWrong) {
  const std::string bytes = encrypted(plain_of(3 * kChunk));
  const auto chunk = [&](const std::string& of, size_t i) {
    return of.substr(kEncryptedHeaderBytes + i * kWhole, kWhole);
  };
  const std::string header = bytes.substr(0, kEncryptedHeaderBytes);
  const auto expect = [](const std::string& changed, Code code, const std::string& text) {
    const Decrypted found = decrypted(changed);
    EXPECT_EQ(found.code, code) << found.text;
    EXPECT_THAT(found.text, HasSubstr(text));
  };
  expect("", Code::kInvalidArgument, "is not encrypted");
  expect("some other file that is long enough", Code::kInvalidArgument, "is not encrypted");
  expect(header.substr(0, 9), Code::kDataLoss, "is cut: it ends in its header");
  expect(header.substr(0, 100), Code::kDataLoss, "is cut: it ends in its header");
  expect(header, Code::kDataLoss, "is cut: it ends in chunk 1");
  expect(bytes.substr(0, bytes.size() - kWhole + 3), Code::kDataLoss, "is cut: it ends in chunk 3");
  expect(bytes.substr(0, bytes.size() - kWhole), Code::kDataLoss,
         "is cut: it ends behind chunk 2, which was not its last one");
  expect(bytes + chunk(bytes, 0), Code::kDataLoss,
         "is damaged: there is something behind chunk 3, which was its last one");
  expect(header + chunk(bytes, 1) + chunk(bytes, 0) + chunk(bytes, 2), Code::kDataLoss,
         "is damaged: chunk 1 of 3 was changed, or does not belong to this place of this file");
  expect(header + chunk(bytes, 0) + chunk(bytes, 0) + chunk(bytes, 2), Code::kDataLoss,
         "is damaged: chunk 2 of 3");
  const std::string other = encrypted(plain_of(3 * kChunk));
  expect(header + chunk(bytes, 0) + chunk(other, 1) + chunk(bytes, 2), Code::kDataLoss,
         "is damaged: chunk 2 of 3");
  std::string version = bytes, id = bytes, padding = bytes, salt = bytes, size = bytes;
  version[8] = 2;
  expect(version, Code::kInvalidArgument, "is encrypted in format 2, expected 1");
  id[48] = 'b';
  expect(id, Code::kFailedPrecondition,
         "was encrypted with another key than the one that is called 'b' here, or its header");
  padding[100] = 'x';
  expect(padding, Code::kDataLoss, "has a damaged header");
  salt[20] = static_cast<char>(salt[20] ^ 1);
  expect(salt, Code::kFailedPrecondition, "or its header was changed");
  size[12] = 0;
  expect(size, Code::kDataLoss, "has a damaged header");
}

TEST(EncryptedFile, WithAnotherKeyIsRefused) {
  const Decrypted found = decrypted(encrypted("plain", 1), 2);
  EXPECT_EQ(found.code, Code::kFailedPrecondition);
  EXPECT_THAT(found.text, HasSubstr("was encrypted with another key than the one that is called 'a' here"));
}

TEST(EncryptedFile, ThatIsNotThereOrNoFileIsSaidToBeSo) {
  const TemporaryDirectory folder;
  EXPECT_EQ(EncryptedFile::open((folder.path() / "none").string()).status().code(), Code::kNotFound);
  EXPECT_EQ(EncryptedFile::open(folder.path().string()).status().code(), Code::kInvalidArgument);
  const std::string fifo = (folder.path() / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(EncryptedFile::open(fifo).status().code(), Code::kInvalidArgument)
      << "and nobody waits for its writer";
}

// Made by Python's package cryptography (AESGCM, HKDF) as encrypted_file.h says: the key is the bytes 0 to 31, the salt 128 to 159,
// the plain bytes are 0 to 149.
constexpr char kMadeByPython[] =
    "8941544c454e430a0100000040000000808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
    "6b6174000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "00000000000000000000000000000000958f4b625c57fd9a81338e63f0cbf626aa03c55c58cbc56f4783f34377ba822a"
    "dc30ac44fc7a8a624954521d3008a6bc1ddb9efb3523b35658f79c3e3b444cc172d4208d5bd6b90fbb4a5ba22366552d"
    "c1087e76a6be2563199b78fa69a209923b761b2ec2d32952ba907e7f726672c6e0f6a734d4ef45b2bdcd66bb59562534"
    "a7b051aab89c6cf7e28b1872251c48072e3dc02d1f58fb43a009ab71c5b50efd53a44a648c36086a1b9b4399e0fb8493"
    "04d6693c0b6a4d122139a393f3ab681f7161199f5e50d9f01c9f2fc6fb93d14e49b90f53495e";

TEST(EncryptedFile, IsTheSameAsAnotherProgramMakes) {
  std::array<std::byte, kEncryptionSaltBytes> salt;
  for (size_t i = 0; i < salt.size(); ++i) salt[i] = static_cast<std::byte>(128 + i);
  const auto encrypt = [&](const std::string& plain) {
    const FileDescriptor from = file_of(plain), to = file_of({});
    const auto key = key_from(0);
    EXPECT_TRUE(encrypt_file(from.get(), to.get(), {"kat", key, kChunk, salt}).ok());
    const std::string bytes = bytes_of(to);
    return hex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  };
  std::string plain(150, '\0');
  for (size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<char>(i);
  EXPECT_EQ(encrypt(plain), kMadeByPython);
  EXPECT_EQ(encrypt("").substr(2 * 112), "958f4b625c57fd9a81338e63f0cbf626c98450a434b458771dac9164aff8ffd8")
      << "check value and tag of an empty file";
}

TEST(EncryptedFiles, IsFoundByAFileSomewhereBelow) {
  const TemporaryDirectory folder;
  std::filesystem::create_directories(folder.path() / "1" / "deep");
  std::ofstream(folder.path() / "1" / "plain") << "plain";
  std::ofstream(folder.path() / "1" / "short") << "\x89"
                                                  "ATL";
  std::filesystem::create_directory_symlink(folder.path(), folder.path() / "1" / "loop");
  EXPECT_EQ(find_encrypted_file(folder.path()), "");
  EXPECT_EQ(find_encrypted_file(folder.path() / "none"), "");
  std::ofstream(folder.path() / "1" / "deep" / "weights", std::ios::binary) << encrypted("plain");
  EXPECT_THAT(find_encrypted_file(folder.path() / "1" / "deep"), HasSubstr("/1/deep/weights"));
  EXPECT_THAT(find_encrypted_file(folder.path()), HasSubstr("weights"));
}

TEST(LockedMemory, IsLockedAndNotDumped) {
  const auto flags_of = [](const void* address) {
    std::ifstream maps("/proc/self/smaps");
    std::string found;
    for (std::string line; std::getline(maps, line);) {
      uintptr_t from = 0, to = 0;
      if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) {
        const auto at = reinterpret_cast<uintptr_t>(address);
        found = from <= at && at < to ? "here" : "";
      } else if (!found.empty() && line.starts_with("VmFlags:")) {
        return line + " ";
      }
    }
    return std::string();
  };
  auto memory = LockedMemory::make(100'000, true);
  ASSERT_TRUE(memory.ok()) << memory.status().text();
  const std::string flags = flags_of(memory->bytes().data());
  for (const char* flag : {" lo ", " dd ", " dc "}) EXPECT_THAT(flags, HasSubstr(flag));
  EXPECT_THAT(flags_of(LockedMemory::make(0, false)->bytes().data()), ::testing::Not(HasSubstr(" lo ")));
}

TEST(LockedMemory, ThatMayNotBeLockedSaysWhatLimitsIt) {
  // In a child, as the limit and the rights of a process do not come back.
  const auto lock_too_much = [] {
    const rlimit limit{8192, 8192};
    ::setrlimit(RLIMIT_MEMLOCK, &limit);
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) std::_Exit(2);
    const auto memory = LockedMemory::make(1 << 20, true);
    std::fprintf(stderr, "%s\n", std::string(memory.status().message()).c_str());
    std::_Exit(LockedMemory::make(1 << 20, false).ok() ? 0 : 3);
  };
  EXPECT_EXIT(lock_too_much(), ::testing::ExitedWithCode(0),
              "1048576 bytes of memory that cannot be locked: .*8192 bytes \\(RLIMIT_MEMLOCK\\): raise");
}

}  // namespace
}  // namespace atl
