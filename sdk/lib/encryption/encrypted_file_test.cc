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

constexpr std::string_view kName = "sub/model";
constexpr size_t kHead = kEncryptedHeaderBytes + kName.size();

std::string encrypted(const std::string& plain, uint8_t key = 0, std::string_view name = kName) {
  const FileDescriptor from = file_of(plain), to = file_of({});
  const auto bytes = key_from(key);
  const Status status = encrypt_file(from.get(), to.get(), {name, "a", bytes, kChunk, std::nullopt});
  EXPECT_TRUE(status.ok()) << status.text();
  return bytes_of(to);
}

/// The plain bytes, or the message of the failure.
struct Decrypted {
  Code code = Code::kOk;
  std::string text;
};

Decrypted decrypted(const std::string& bytes, uint8_t key = 0, std::string_view name = kName) {
  auto file = EncryptedFile::open(file_of(bytes), "f", name);
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
    ASSERT_EQ(bytes.size(), kHead + size + chunks * kEncryptionTagBytes);
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
    ASSERT_TRUE(encrypt_file(from.get(), to.get(), {kName, "a", key, uint32_t{1} << 20, std::nullopt}).ok());
    const std::string bytes = bytes_of(to);
    EXPECT_EQ(bytes.size(), kHead + size + (size + (1 << 20) - 1) / (1 << 20) * kEncryptionTagBytes);
    EXPECT_EQ(decrypted(bytes).text, plain);
  }
}

TEST(EncryptedFile, IsNeverTheSameTwice) {
  const std::string one = encrypted("plain"), two = encrypted("plain");
  EXPECT_NE(one.substr(16, kEncryptionSaltBytes), two.substr(16, kEncryptionSaltBytes));
  EXPECT_NE(one.substr(kHead), two.substr(kHead));
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
  const auto chunk = [&](const std::string& of, size_t i) { return of.substr(kHead + i * kWhole, kWhole); };
  const std::string header = bytes.substr(0, kHead);
  const auto expect = [](const std::string& changed, Code code, const std::string& text) {
    const Decrypted found = decrypted(changed);
    EXPECT_EQ(found.code, code) << found.text;
    EXPECT_THAT(found.text, HasSubstr(text));
  };
  expect("", Code::kInvalidArgument, "is not encrypted");
  expect("some other file that is long enough", Code::kInvalidArgument, "is not encrypted");
  expect(header.substr(0, 9), Code::kDataLoss, "is cut: it ends in its header");
  expect(header.substr(0, 100), Code::kDataLoss, "is cut: it ends in its header");
  expect(header.substr(0, kHead - 1), Code::kDataLoss, "is cut: it ends in its header");
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
  version[8] = 1;
  expect(version, Code::kInvalidArgument,
         "is encrypted in format 1, expected 2: encrypt the plain file again");
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

TEST(EncryptedFile, DoesNotTakeThePlaceOfAnotherOne) {
  const std::string weights = encrypted(plain_of(100), 0, "weights");
  EXPECT_EQ(decrypted(weights, 0, "weights").text, plain_of(100));
  for (const char* name : {"model.onnx", "weight", "weights2", "sub/weights", "Weights", ""}) {
    const Decrypted found = decrypted(weights, 0, name);
    EXPECT_EQ(found.code, Code::kDataLoss);
    EXPECT_THAT(found.text, HasSubstr(cat("model file 'f' was encrypted under the name 'weights', expected '",
                                          name, "': encrypted files of a version cannot be renamed")));
  }
}

TEST(EncryptedFile, WhoseNameWasChangedInItsHeaderIsRefused) {
  const std::string other = encrypted(plain_of(100), 0, "sub/other"), own = encrypted(plain_of(100));
  std::string renamed = other;
  renamed.replace(kEncryptedHeaderBytes, kName.size(), kName);
  const Decrypted found = decrypted(renamed);
  EXPECT_EQ(found.code, Code::kFailedPrecondition);
  EXPECT_THAT(found.text, HasSubstr("or its header was changed"));
  // The whole head of the file whose place is taken, so that the header is right, and the chunks are not.
  EXPECT_THAT(decrypted(own.substr(0, kHead) + other.substr(kHead)).text,
              HasSubstr("is damaged: chunk 1 of 2"));
}

TEST(EncryptedFile, HasANameInTheFolderOfItsVersion) {
  const TemporaryDirectory folder;
  const std::filesystem::path version = folder.path() / "1";
  std::filesystem::create_directories(version / "sub");
  std::ofstream(version / "sub" / "model", std::ios::binary) << encrypted("plain");
  const auto open = [&](const std::filesystem::path& path, const std::filesystem::path& in) {
    const auto file = EncryptedFile::open(path.string(), in.string());
    return file.ok() ? std::string("OK") : std::string(file.status().message());
  };
  const std::filesystem::path model = version / "sub" / "model";
  EXPECT_EQ(open(model, version), "OK");
  EXPECT_EQ(open(version.string() + "//sub/./model", version.string() + "/"), "OK");
  EXPECT_THAT(open(model, version / "sub"), HasSubstr("under the name 'sub/model', expected 'model'"));
  EXPECT_THAT(open(model, folder.path()), HasSubstr("under the name 'sub/model', expected '1/sub/model'"));
  for (const auto& other : {folder.path() / "2", model, std::filesystem::path("1"), std::filesystem::path()})
    EXPECT_THAT(open(model, other),
                HasSubstr("is not in the folder '" + other.string() + "' of its version"));
}

TEST(EncryptedFile, HasNoOtherNamesThanThose) {
  for (const char* name : {"a", "model.onnx", "a/b/c", "..a", "a..", "a b", "\xc3\xa4"})
    EXPECT_TRUE(is_encrypted_name(name)) << name;
  for (const char* name : {"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a\nb", "a\x7f"})
    EXPECT_FALSE(is_encrypted_name(name)) << name;
  EXPECT_FALSE(is_encrypted_name(std::string_view("a\0b", 3)));
  EXPECT_TRUE(is_encrypted_name(std::string(kMostEncryptedNameBytes, 'a')));
  EXPECT_FALSE(is_encrypted_name(std::string(kMostEncryptedNameBytes + 1, 'a')));
  const std::string longest(kMostEncryptedNameBytes, 'a');
  EXPECT_EQ(decrypted(encrypted("plain", 0, longest), 0, longest).text, "plain");
  const FileDescriptor from = file_of("plain"), to = file_of({});
  const auto key = key_from(0);
  const Status status = encrypt_file(from.get(), to.get(), {"../a", "a", key, kChunk, std::nullopt});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.text(), HasSubstr("found the name of a file that cannot be encrypted"));
}

TEST(EncryptedFile, WithAnotherKeyIsRefused) {
  const Decrypted found = decrypted(encrypted("plain", 1), 2);
  EXPECT_EQ(found.code, Code::kFailedPrecondition);
  EXPECT_THAT(found.text, HasSubstr("was encrypted with another key than the one that is called 'a' here"));
}

TEST(EncryptedFile, ThatIsNotThereOrNoFileIsSaidToBeSo) {
  const TemporaryDirectory folder;
  const std::string version = folder.path().string(), sub = version + "/sub", fifo = version + "/fifo";
  const auto failure = [&](const std::string& path) {
    return EncryptedFile::open(path, version).status().code();
  };
  EXPECT_EQ(failure(version + "/none"), Code::kNotFound);
  ASSERT_TRUE(std::filesystem::create_directory(sub));
  EXPECT_EQ(failure(sub), Code::kInvalidArgument);
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(failure(fifo), Code::kInvalidArgument) << "and nobody waits for its writer";
}

// Made by Python's package cryptography (AESGCM, HKDF) as encrypted_file.h says: the name is "sub/model", the key the bytes 0 to
// 31, the salt 128 to 159, the plain bytes are 0 to 149.
constexpr char kMadeByPython[] =
    "8941544c454e430a0200090040000000808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
    "6b6174000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "00000000000000000000000000000000e7d14d4158b13475d6a74c091af3a7a37375622f6d6f64656cfe0ec8a64fd9ba"
    "d791a7a70bd268c3cf72c0fc6cdb2d26b7fd947ca2825323d91fa73c314a0854bc73008d3e39e9a0ad5682ac019199d4"
    "c477fa768b0dedf07814c0230fcaf5bac64374bf6138e8189692cff930371ee5df2c83e94aaceef4d73d1341bae5c15b"
    "a7ab4c60ded3bdeb5fd4cd80aa0269c77f3427e0aa82fbea4056c8fe5b007787b746585faf20e25f5cb0dce59bdf8aad"
    "2ddb53e41dadf8d03f4ad8217ba327ae5e525c6ee75f7da9b6efdafa08cb9194fc2b7b40cde91023c0fd6bd4c72c6a";

TEST(EncryptedFile, IsTheSameAsAnotherProgramMakes) {
  std::array<std::byte, kEncryptionSaltBytes> salt;
  for (size_t i = 0; i < salt.size(); ++i) salt[i] = static_cast<std::byte>(128 + i);
  const auto encrypt = [&](const std::string& plain) {
    const FileDescriptor from = file_of(plain), to = file_of({});
    const auto key = key_from(0);
    EXPECT_TRUE(encrypt_file(from.get(), to.get(), {kName, "kat", key, kChunk, salt}).ok());
    const std::string bytes = bytes_of(to);
    return hex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  };
  std::string plain(150, '\0');
  for (size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<char>(i);
  EXPECT_EQ(encrypt(plain), kMadeByPython);
  EXPECT_EQ(encrypt("").substr(2 * 112),
            "e7d14d4158b13475d6a74c091af3a7a37375622f6d6f64656c3598e19326c9636e76881fc0a379b476")
      << "check value, name and tag of an empty file";
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
