/// The format of encrypted files, version 2: AES-256-GCM in chunks, by the STREAM construction.
///
///     header   128 bytes: magic[8] version[2] name's length[2] chunk size[4] salt[32] key id[64, zeros behind it]
///              check value[16]
///     name     where the file is in the folder of its version, such as "model.onnx" or "weights/part-1"
///     chunk    chunk size + 16 bytes: cipher text, tag
///     ...
///     chunk    as long as what is left, at least its tag: the last one, alone for an empty file, else not of a tag only
///
/// Numbers are little-endian. The salt is random for each file. HKDF-SHA256 makes 48 bytes of the key, the salt and, as
/// information, the text "atoll encrypted file 2" with the header's first 112 bytes and the name behind it: the key of this file's
/// chunks, and the check value. So a wrong key is told from damage, and a file's key belongs to its header and name. A chunk's
/// nonce is 7 zero bytes, its number from 0 on (4 bytes, big-endian) and 1 for the last chunk, else 0; its additional data is the
/// whole header and the name.
///
/// No nonce comes twice with one key: a file's key has a salt of 256 random bits, and a number is used once.
///
/// The name is that in the folder of the version, without the version's number and the model's name: a file cannot take another
/// file's place in a version, while a whole version may be copied to a new number, and a model's folder may be renamed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"
#include "atoll/lib/encryption_keys.h"

namespace atl {

inline constexpr size_t kEncryptedHeaderBytes = 128;
inline constexpr size_t kEncryptionTagBytes = 16;
inline constexpr size_t kEncryptionSaltBytes = 32;
inline constexpr size_t kMostEncryptedNameBytes = 1024;

/// Whether an encrypted file can have this name: parts with '/' between them, none of them empty, "." or "..", without control
/// characters, at most kMostEncryptedNameBytes.
bool is_encrypted_name(std::string_view name) noexcept;

struct EncryptionSettings {
  std::string_view name;  ///< of the file in the folder of its version
  std::string_view key_id;
  EncryptionKey key;
  /// A power of two from 64 to 16 MiB. [bytes]
  uint32_t chunk_bytes = uint32_t{1} << 20;
  /// For tests; nothing: random.
  std::optional<std::array<std::byte, kEncryptionSaltBytes>> salt = std::nullopt;
};

/// Reads a file from where it stands until its end, and writes the encrypted one. Plain bytes are overwritten in memory
/// afterwards. \param from, to  descriptors
/// Errors: INTERNAL what the system says of reading or writing, or OpenSSL has no such cipher; INVALID_ARGUMENT the file has 2^32
/// chunks or more, or a setting is wrong, such as a name that cannot be.
Status encrypt_file(int from, int to, const EncryptionSettings& settings) noexcept;

/// An encrypted file that is open for reading. [worker]
class EncryptedFile {
 public:
  /// Reads its header. \param version_directory  the path lies below it, and what follows is the name that the file must have.
  /// Errors: NOT_FOUND there is no such file; INVALID_ARGUMENT it is not encrypted, or in a format that is not known here, or
  /// the path is not below the folder; DATA_LOSS the header is damaged, the file cut, or it was encrypted under another name. All
  /// name the path.
  static Result<EncryptedFile> open(const std::string& path, const std::string& version_directory) noexcept;
  /// Of a descriptor with offsets. \param path  for messages. \param name  that it must have
  static Result<EncryptedFile> open(FileDescriptor file, const std::string& path,
                                    std::string_view name) noexcept;

  const std::string& key_id() const noexcept { return key_id_; }
  uint64_t plain_bytes() const noexcept { return plain_bytes_; }
  /// Decrypts the whole file. \param plain  of plain_bytes(); where this fails, it has zeros
  /// Errors: FAILED_PRECONDITION the file was made with another key; DATA_LOSS it is not as it was written; INTERNAL it cannot be
  /// read. All name the path.
  Status decrypt(EncryptionKey key, std::span<std::byte> plain) const noexcept;

 private:
  Status read_header();
  Status read_name(std::string_view expected);
  Status read_at(uint64_t offset, std::span<std::byte> bytes) const;

  uint64_t body_offset() const noexcept { return header_.size() + name_.size(); }

  FileDescriptor file_;
  std::string path_;
  std::string name_;
  std::array<std::byte, kEncryptedHeaderBytes> header_{};
  std::string key_id_;
  uint32_t chunk_bytes_ = 0;
  uint64_t file_bytes_ = 0;
  uint64_t chunks_ = 0;
  uint64_t plain_bytes_ = 0;
};

}  // namespace atl
