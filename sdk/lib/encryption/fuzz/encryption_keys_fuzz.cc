// Any bytes as a file of keys of encrypted models. Each key that is taken is found by its id.
#include <cstdlib>
#include <string>
#include <string_view>

#include "atoll/lib/encryption_keys.h"
#include "fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto keys = atl::EncryptionKeys::parse(text, false);
  if (!keys.ok()) {
    if (keys.status().message().empty()) std::abort();
    return 0;
  }
  if (keys->ids().empty()) std::abort();
  for (const std::string& id : keys->ids()) {
    if (!atl::is_encryption_key_id(id) || !keys->find(id).has_value()) std::abort();
  }
  return 0;
}
