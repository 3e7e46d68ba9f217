#include "chunk_cipher.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace atl {
namespace {

constexpr size_t kNonceBytes = 12;
constexpr std::string_view kPurpose = "atoll encrypted file 2";

// OpenSSL takes lengths as int.
constexpr size_t kStepBytes = size_t{1} << 30;

unsigned char* raw(std::byte* bytes) noexcept { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes);
}

struct FreeKdf {
  void operator()(EVP_KDF* kdf) const noexcept { EVP_KDF_free(kdf); }
  void operator()(EVP_KDF_CTX* context) const noexcept { EVP_KDF_CTX_free(context); }
};

/// HKDF-SHA256.
bool derive(EncryptionKey key, std::span<const std::byte> salt, std::span<std::byte> info,
            std::span<std::byte> out) {
  const std::unique_ptr<EVP_KDF, FreeKdf> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  if (kdf == nullptr) return false;
  const std::unique_ptr<EVP_KDF_CTX, FreeKdf> context(EVP_KDF_CTX_new(kdf.get()));
  if (context == nullptr) return false;
  char digest[] = "SHA256";
  // The parameters are only read.
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, const_cast<std::byte*>(key.data()), key.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, const_cast<std::byte*>(salt.data()),
                                        salt.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end()};
  return EVP_KDF_derive(context.get(), raw(out.data()), out.size(), parameters) == 1;
}

}  // namespace

void ChunkCipher::Free::operator()(evp_cipher_ctx_st* context) const noexcept {
  EVP_CIPHER_CTX_free(context);
}

ChunkCipher::~ChunkCipher() { OPENSSL_cleanse(key_.data(), key_.size()); }

Result<ChunkCipher> ChunkCipher::make(std::span<const std::byte, kCheckedHeaderBytes> head,
                                      std::string_view name, EncryptionKey key) noexcept {
  ChunkCipher cipher;
  std::vector<std::byte> info;
  for (const std::span<const std::byte> part :
       {std::as_bytes(std::span(kPurpose)), std::span<const std::byte>(head), std::as_bytes(std::span(name))})
    info.insert(info.end(), part.begin(), part.end());
  std::array<std::byte, kEncryptionKeyBytes + std::tuple_size_v<CheckValue>> derived;
  const bool is_derived =
      derive(key, head.subspan(kEncryptionSaltOffset, kEncryptionSaltBytes), info, derived);
  std::copy_n(derived.begin(), cipher.key_.size(), cipher.key_.begin());
  std::copy_n(derived.begin() + cipher.key_.size(), cipher.check_value_.size(), cipher.check_value_.begin());
  OPENSSL_cleanse(derived.data(), derived.size());
  for (const std::span<const std::byte> part :
       {std::span<const std::byte>(head), std::span<const std::byte>(cipher.check_value_),
        std::as_bytes(std::span(name))})
    cipher.additional_data_.insert(cipher.additional_data_.end(), part.begin(), part.end());
  cipher.context_.reset(EVP_CIPHER_CTX_new());
  if (!is_derived || cipher.context_ == nullptr) return internal_error("OpenSSL has no HKDF with SHA-256");
  return cipher;
}

bool ChunkCipher::begin(ChunkPlace place, bool is_sealing) noexcept {
  std::array<unsigned char, kNonceBytes> nonce{};
  for (size_t i = 0; i < 4; ++i) nonce[7 + i] = static_cast<unsigned char>(place.number >> (24 - 8 * i));
  nonce[11] = place.is_last ? 1 : 0;
  // 12 bytes are the nonce's length that OpenSSL begins with.
  int taken = 0;
  return EVP_CipherInit_ex(context_.get(), EVP_aes_256_gcm(), nullptr, raw(key_.data()), nonce.data(),
                           is_sealing ? 1 : 0) == 1 &&
         EVP_CipherUpdate(context_.get(), nullptr, &taken, raw(additional_data_.data()),
                          static_cast<int>(additional_data_.size())) == 1;
}

bool ChunkCipher::seal(ChunkPlace place, std::span<const std::byte> plain,
                       std::span<std::byte> sealed) noexcept {
  if (plain.size() > kStepBytes || sealed.size() != plain.size() + kEncryptionTagBytes || !begin(place, true))
    return false;
  int made = 0, more = 0;
  unsigned char* const out = raw(sealed.data());
  return (plain.empty() || EVP_CipherUpdate(context_.get(), out, &made, raw(plain.data()),
                                            static_cast<int>(plain.size())) == 1) &&
         EVP_CipherFinal_ex(context_.get(), out + made, &more) == 1 &&
         static_cast<size_t>(made + more) == plain.size() &&
         EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kEncryptionTagBytes,
                             out + plain.size()) == 1;
}

bool ChunkCipher::open(ChunkPlace place, std::span<const std::byte> sealed,
                       std::span<std::byte> plain) noexcept {
  if (plain.size() > kStepBytes || sealed.size() != plain.size() + kEncryptionTagBytes ||
      !begin(place, false))
    return false;
  std::array<std::byte, kEncryptionTagBytes> tag;
  std::ranges::copy(sealed.last(tag.size()), tag.begin());
  int made = 0, more = 0;
  unsigned char* const out = raw(plain.data());
  std::array<unsigned char, 16> nothing;  // the end of a chunk has no bytes
  const bool is_mine = (plain.empty() || EVP_CipherUpdate(context_.get(), out, &made, raw(sealed.data()),
                                                          static_cast<int>(plain.size())) == 1) &&
                       EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG,
                                           static_cast<int>(tag.size()), tag.data()) == 1 &&
                       EVP_CipherFinal_ex(context_.get(), nothing.data(), &more) == 1 &&
                       static_cast<size_t>(made) == plain.size();
  // What was not authenticated is nobody's business.
  if (!is_mine) OPENSSL_cleanse(plain.data(), plain.size());
  return is_mine;
}

}  // namespace atl
