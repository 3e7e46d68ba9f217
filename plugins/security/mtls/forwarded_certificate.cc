#include "security/mtls/forwarded_certificate.h"

#include <strings.h>

#include <limits>
#include <string>

namespace atl::mtls {
namespace {

Status no_certificate(std::string_view why) noexcept {
  return make_status(Code::kUnauthenticated, "the forwarded certificate ", why);
}

bool is_key(std::string_view text, std::string_view key) noexcept {
  return text.size() == key.size() && ::strncasecmp(text.data(), key.data(), key.size()) == 0;
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Takes the value at the front, which may be in quotes. False: it does not end.
bool take_value(std::string_view* text, std::string* value) {
  if (!text->starts_with('"')) {
    const size_t end = text->find_first_of(";,\"");
    *value = text->substr(0, end);
    *text = end == std::string_view::npos ? std::string_view() : text->substr(end);
    return !text->starts_with('"');
  }
  for (size_t i = 1; i < text->size(); ++i) {
    char c = (*text)[i];
    if (c == '"') {
      *text = text->substr(i + 1);
      return true;
    }
    // Only quotes are escaped here; a backslash before anything else is the subject's.
    if (c == '\\' && i + 1 < text->size() && (*text)[i + 1] == '"') c = (*text)[++i];
    *value += c;
  }
  return false;
}

/// Of "CN=b,O=a" (RFC 2253) the common names.
Status read_subject(std::string_view subject, ClientCertificate* certificate) {
  if (subject.find_first_of("\\\"#<>;") != std::string_view::npos)
    return no_certificate("has a subject with special characters");
  while (!subject.empty()) {
    const size_t end = subject.find_first_of(",+");
    const std::string_view one = trimmed(subject.substr(0, end));
    subject = end == std::string_view::npos ? std::string_view() : subject.substr(end + 1);
    const size_t equals = one.find('=');
    if (equals == std::string_view::npos) return no_certificate("has a subject of another form");
    if (is_key(trimmed(one.substr(0, equals)), "CN"))
      certificate->common_names.emplace_back(trimmed(one.substr(equals + 1)));
  }
  return {};
}

}  // namespace

Result<ClientCertificate> read_forwarded_certificate(std::string_view text) noexcept {
  if (text.size() > kForwardedBytesMax) return no_certificate("is too long");
  ClientCertificate certificate;
  certificate.expires_s = std::numeric_limits<int64_t>::max();
  bool has_subject = false;
  text = trimmed(text);
  while (true) {
    const size_t equals = text.find_first_of("=;,\"");
    if (equals == std::string_view::npos || text[equals] != '=') return no_certificate("has another form");
    const std::string_view key = trimmed(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    std::string value;
    if (key.empty() || !take_value(&text, &value)) return no_certificate("has another form");
    if (is_key(key, "URI") && !value.empty()) {
      certificate.uris.push_back(std::move(value));
    } else if (is_key(key, "Subject")) {
      if (std::exchange(has_subject, true)) return no_certificate("has two subjects");
      ATOLL_RETURN_IF_ERROR(read_subject(value, &certificate));
    }
    text = trimmed(text);
    if (text.empty()) return certificate;
    if (text.front() == ',') return no_certificate("comes with another one");
    if (text.front() != ';') return no_certificate("has another form");
    text.remove_prefix(1);
  }
}

}  // namespace atl::mtls
