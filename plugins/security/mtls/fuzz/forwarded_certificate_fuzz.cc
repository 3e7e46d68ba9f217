// Any bytes as the header x-forwarded-client-cert, and as an address that is trusted and as one that asks. The first byte chooses.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz_target.h"
#include "security/mtls/certificate_name.h"
#include "security/mtls/forwarded_certificate.h"
#include "security/mtls/trusted_peers.h"

namespace {

using namespace atl::mtls;  // NOLINT

void check(bool holds) {
  if (!holds) std::abort();
}

/// The same certificate as another proxy could write it. \param rewritten  false: a name cannot be written so
std::string rewrite(const atl::ClientCertificate& certificate, bool* rewritten) {
  std::string text = "By=x";
  for (const std::string& uri : certificate.uris) {
    *rewritten &= uri.find_first_of("\\\"") == std::string::npos;
    text += ";uri=\"" + uri + "\"";
  }
  std::string subject;
  for (const std::string& name : certificate.common_names)
    subject += (subject.empty() ? "cn=" : ",CN=") + name;
  return text + (subject.empty() ? "" : ";SUBJECT=\"" + subject + "\"");
}

void read_header(std::string_view text) {
  auto read = read_forwarded_certificate(text);
  if (!read.ok()) return check(read.status().code() == atl::Code::kUnauthenticated);
  check(text.size() <= kForwardedBytesMax);
  size_t bytes = 0;
  for (const auto* names : {&read->uris, &read->common_names}) {
    for (const std::string& name : *names) bytes += name.size();
  }
  check(bytes <= text.size());
  // Escapes could hide where a name ends: a subject with some is refused.
  for (const std::string& name : read->common_names)
    check(name.find_first_of("\\\"#<>;,+") == std::string::npos);
  if (auto name = name_of(*read); name.ok())
    check(!name->text.empty() && name->text.size() <= 256 &&
          std::none_of(name->text.begin(), name->text.end(),
                       [](unsigned char c) { return c < 0x20 || c == 0x7F; }));
  bool rewritten = true;
  const std::string again = rewrite(*read, &rewritten);
  if (!rewritten || again.size() > kForwardedBytesMax) return;
  auto same = read_forwarded_certificate(again);
  check(same.ok() && same->uris == read->uris && same->common_names == read->common_names);
}

void ask_peers(std::string_view text) {
  const size_t cut = std::min(text.find('\n'), text.size());
  TrustedPeers trusted;
  const bool is_one = trusted.add(text.substr(0, cut)).ok();
  check(is_one != trusted.empty());
  const bool is_in = trusted.has(text.substr(std::min(cut + 1, text.size())));
  check(is_one || !is_in);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  data[0] % 2 == 0 ? read_header(rest) : ask_peers(rest);
  return 0;
}
