// Any bytes as a file of keys, and as a token. The first byte chooses. No token may be taken, as the fuzzer knows none.
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "fuzz_target.h"
#include "security/keys/key_file.h"

namespace {

using atl::keys::KeySet;

void check(bool holds) {
  if (!holds) std::abort();
}

void read(std::string_view text) {
  auto keys = KeySet::parse(text);
  if (!keys.ok()) {
    check(!keys.status().message().empty());
    return;
  }
  // A file with a token and its own digest is not found by chance.
  check(KeySet::find(keys.value(), text.substr(0, 256)) == nullptr);
  keys.value()->outdate();
}

void ask(std::string_view token) {
  static const std::shared_ptr<const KeySet> keys =
      KeySet::parse("known:" + std::string(64, 'a') + ":inference@fraud-*:tenant=blue\n").value();
  check(KeySet::find(keys, token) == nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  data[0] % 2 == 0 ? read(rest) : ask(rest);
  return 0;
}
