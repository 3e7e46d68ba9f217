/// Encrypts and decrypts the chunks of one file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/lib/encrypted_file.h"

struct evp_cipher_ctx_st;

namespace atl {

/// Where a chunk stands in its file; makes its nonce.
struct ChunkPlace {
  uint32_t number = 0;
  bool is_last = false;
};

/// What begins a header: all but the check value, which is made of it.
inline constexpr size_t kCheckedHeaderBytes = kEncryptedHeaderBytes - 16;
inline constexpr size_t kEncryptionSaltOffset = 16;
using CheckValue = std::array<std::byte, 16>;

/// Of one file. The key is wiped at the end.
class ChunkCipher {
 public:
  /// \param head  the header's first kCheckedHeaderBytes. \param name  the file's. Errors: INTERNAL OpenSSL lacks something.
  static Result<ChunkCipher> make(std::span<const std::byte, kCheckedHeaderBytes> head, std::string_view name,
                                  EncryptionKey key) noexcept;
  ChunkCipher(ChunkCipher&& other) noexcept = default;
  ~ChunkCipher();

  /// That belongs to the key, the head and the name.
  const CheckValue& check_value() const noexcept { return check_value_; }
  /// \param sealed  kEncryptionTagBytes longer than `plain`. \returns false: OpenSSL fails
  bool seal(ChunkPlace place, std::span<const std::byte> plain, std::span<std::byte> sealed) noexcept;
  /// \param plain  kEncryptionTagBytes shorter; zeros if this fails. \returns whether it is the chunk of this place
  bool open(ChunkPlace place, std::span<const std::byte> sealed, std::span<std::byte> plain) noexcept;

 private:
  struct Free {
    void operator()(evp_cipher_ctx_st* context) const noexcept;
  };
  ChunkCipher() = default;
  /// Begins a chunk: its nonce and the additional data.
  bool begin(ChunkPlace place, bool is_sealing) noexcept;

  std::unique_ptr<evp_cipher_ctx_st, Free> context_;
  std::array<std::byte, kEncryptionKeyBytes> key_{};
  std::vector<std::byte> additional_data_;
  CheckValue check_value_{};
};

}  // namespace atl
