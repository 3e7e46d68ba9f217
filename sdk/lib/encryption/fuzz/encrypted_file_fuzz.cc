// Any bytes as an encrypted file. Of one that is taken, every byte was authenticated: made anew with the same settings it is the same.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/lib/encrypted_file.h"
#include "fuzz_target.h"

namespace {

constexpr std::array<std::byte, atl::kEncryptionKeyBytes> kKey{};
constexpr std::string_view kName = "f";

atl::FileDescriptor file_of(std::span<const std::byte> bytes) {
  atl::FileDescriptor file(::memfd_create("fuzz", MFD_CLOEXEC));
  if (::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

/// \param size  of the file
void check_same(std::span<const std::byte> plain, const atl::EncryptedFile& file, const uint8_t* data,
                size_t size) {
  uint32_t chunk = 0;
  std::memcpy(&chunk, data + 12, sizeof chunk);
  std::array<std::byte, atl::kEncryptionSaltBytes> salt;
  std::memcpy(salt.data(), data + 16, salt.size());
  const atl::FileDescriptor from = file_of(plain), to = file_of({});
  if (!atl::encrypt_file(from.get(), to.get(), {kName, file.key_id(), kKey, chunk, salt}).ok()) std::abort();
  std::string again(size + 1, '\0');
  if (::pread(to.get(), again.data(), again.size(), 0) != static_cast<ssize_t>(size)) std::abort();
  if (std::memcmp(again.data(), data, size) != 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto file = atl::EncryptedFile::open(file_of(std::as_bytes(std::span(data, size))), "path", kName);
  if (!file.ok()) return file.status().message().empty() ? std::abort(), 0 : 0;
  if (file->plain_bytes() > size) std::abort();
  std::vector<std::byte> plain(file->plain_bytes());
  if (file->decrypt(kKey, plain).ok()) check_same(plain, *file, data, size);
  return 0;
}
