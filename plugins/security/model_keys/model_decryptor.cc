#include "security/model_keys/model_decryptor.h"

#include <utility>

#include "atoll/lib/encrypted_file.h"
#include "atoll/lib/locked_memory.h"
#include "security/model_keys/memory_room.h"

namespace atl::model_keys {
namespace {

class DecryptedBytes final : public ModelFileBytes {
 public:
  explicit DecryptedBytes(LockedMemory memory) noexcept : memory_(std::move(memory)) {}
  ~DecryptedBytes() override = default;
  std::span<const std::byte> bytes() const noexcept override { return memory_.bytes(); }

 private:
  LockedMemory memory_;
};

}  // namespace

Result<std::unique_ptr<ModelFileBytes>> ModelDecryptor::read(const std::string& path,
                                                             const std::string& version_directory) noexcept {
  Result<EncryptedFile> file = EncryptedFile::open(path, version_directory);
  if (!file.ok()) return std::move(file).status();
  // Held while they are used: a new reading may take their place.
  const std::shared_ptr<const EncryptionKeys> keys = source_.keys();
  const std::optional<EncryptionKey> key = keys->find(file->key_id());
  if (!key) {
    return make_status(Code::kFailedPrecondition, "model file '", path, "' is encrypted with the key '",
                       file->key_id(), "', which ", source_.place().text(), " does not have");
  }
  if (Status room = check_memory_room(file->plain_bytes()); !room.ok())
    return make_status(room.code(), "model file '", path, "' ", room.message());
  Result<LockedMemory> memory = LockedMemory::make(file->plain_bytes(), lock_);
  if (!memory.ok()) {
    return make_status(
        memory.status().code(), "model file '", path, "': ", memory.status().message(),
        lock_ ? "; or set lock_memory = false of security/model_keys, so that it may be swapped out" : "");
  }
  ATOLL_RETURN_IF_ERROR(file->decrypt(*key, memory->bytes()));
  log_.info("model file '", path, "' was decrypted with the key '", file->key_id(), "'");
  return std::unique_ptr<ModelFileBytes>(new DecryptedBytes(std::move(memory).value()));
}

}  // namespace atl::model_keys
