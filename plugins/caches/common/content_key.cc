#include "caches/common/content_key.h"

#include <openssl/evp.h>

#include <array>
#include <cstring>
#include <memory>

#include "atoll/core/text.h"
#include "atoll/lib/hex.h"
#include "atoll/models/model.h"
#include "caches/common/key_parts.h"

namespace atl::caches {
namespace {

class Sha256 {
 public:
  static constexpr size_t kBytes = 32;

  Sha256() : context_(EVP_MD_CTX_new()) {
    works_ = context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
  }
  void add(const void* data, size_t bytes) noexcept {
    if (bytes != 0) works_ = works_ && EVP_DigestUpdate(context_.get(), data, bytes) == 1;
  }
  /// False: it could not be computed.
  bool finish(std::array<unsigned char, kBytes>* value) noexcept {
    return works_ && EVP_DigestFinal_ex(context_.get(), value->data(), nullptr) == 1;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
  bool works_ = false;
};

}  // namespace

std::optional<ContentKey> content_key_of(const Request& request, const std::string& prefix,
                                         uint64_t process) {
  if (!has_steady_inputs(request)) return std::nullopt;
  const ModelInfo& model = request.model->info();
  Sha256 hash;
  KeyParts parts(request, hash);
  parts.add(model.content_id);
  if (model.content_id.empty()) {
    parts.add(process);
    parts.add(model.load_id);
  }
  parts.add_all();
  std::array<unsigned char, Sha256::kBytes> value = {};
  if (!hash.finish(&value)) return std::nullopt;
  ContentKey key;
  key.text = cat(prefix, model.name, ":", model.version_text, ":", hex(value));
  std::memcpy(&key.hash, value.data(), sizeof key.hash);
  return key;
}

}  // namespace atl::caches
