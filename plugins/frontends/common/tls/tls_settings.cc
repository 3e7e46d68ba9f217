#include "frontends/common/tls/tls_settings.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace atl::frontends {
namespace {

constexpr off_t kMaxPemBytes = 1 << 20;

Status unreadable(std::string_view option, const std::string& path, std::string_view why) {
  return invalid_argument("option '", option, "' names '", path, "', expected a readable PEM file: ", why);
}

/// \param block  what the file must hold: "CERTIFICATE" or "PRIVATE KEY"
Status read_pem(std::string_view option, const std::string& path, std::string_view block,
                std::string* content) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return unreadable(option, path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return unreadable(option, path, "it is not a regular file");
  if (info.st_size > kMaxPemBytes) {
    return unreadable(option, path, cat("it has ", info.st_size, " bytes, at most ", kMaxPemBytes));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return unreadable(option, path, std::strerror(errno));
  *content = text.str();
  const size_t begin = content->find("-----BEGIN ");
  if (begin == std::string::npos || content->find(cat(block, "-----"), begin) == std::string::npos) {
    return unreadable(option, path, cat("it has no ", block));
  }
  return {};
}

}  // namespace

Result<TlsFiles> read_tls_files(const TlsSettings& settings) noexcept {
  TlsFiles files;
  ATOLL_RETURN_IF_ERROR(read_pem("server_cert", settings.server_cert, "CERTIFICATE", &files.server_cert));
  ATOLL_RETURN_IF_ERROR(read_pem("server_key", settings.server_key, "PRIVATE KEY", &files.server_key));
  if (!settings.root_cert.empty()) {
    ATOLL_RETURN_IF_ERROR(read_pem("root_cert", settings.root_cert, "CERTIFICATE", &files.root_cert));
  }
  return files;
}

void check_tls_files(OptionCheck& check) {
  check.passes({}, TlsSettings::read(check.options()));
  const TlsSettings settings = TlsSettings::given(check.options());
  if (!settings.use_ssl) return;
  auto look = [&](std::string_view key, const std::string& path, std::string_view block) {
    std::string content;
    if (!path.empty()) check.passes({}, read_pem(key, path, block, &content));
  };
  look("server_cert", settings.server_cert, "CERTIFICATE");
  look("server_key", settings.server_key, "PRIVATE KEY");
  look("root_cert", settings.root_cert, "CERTIFICATE");
}

Status unusable_tls_files(std::string_view who, const ListenAddress& address, const TlsSettings& settings,
                          std::string_view why) {
  return invalid_argument(who, " cannot listen on '", address.text(address.port), "' with server_cert '",
                          settings.server_cert, "', server_key '", settings.server_key, "', root_cert '",
                          settings.root_cert, "', expected a key and certificates that belong together",
                          why.empty() ? "" : ": ", why);
}

TlsRules TlsRules::read(const Options& options) noexcept {
  return {.only_13 = options.get_string("ssl_min_version") == "1.3",
          .ciphers = options.get_string("ssl_ciphers"),
          .max_handshakes = static_cast<uint32_t>(options.get_int("ssl_max_handshakes")),
          .poll_interval_ns = options.get_duration_ns("ssl_poll_interval")};
}

TlsSettings TlsSettings::given(const Options& options) noexcept {
  TlsSettings settings;
  settings.mutual = options.get_bool("use_ssl_mutual");
  settings.require_client_cert = options.get_bool("require_client_cert");
  settings.use_ssl = options.get_bool("use_ssl") || settings.mutual;
  settings.server_cert = options.get_string("server_cert");
  settings.server_key = options.get_string("server_key");
  settings.root_cert = options.get_string("root_cert");
  return settings;
}

Result<TlsSettings> TlsSettings::read(const Options& options) noexcept {
  TlsSettings settings = given(options);
  if (!settings.use_ssl) return settings;
  const std::string_view wanted = settings.mutual ? "use_ssl_mutual" : "use_ssl";
  auto missing = [wanted](std::string_view key) -> Status {
    return invalid_argument("option '", key, "' is empty, expected the path of a PEM file, because '", wanted,
                            "' is true");
  };
  if (settings.server_cert.empty()) return missing("server_cert");
  if (settings.server_key.empty()) return missing("server_key");
  if (settings.mutual && settings.root_cert.empty()) return missing("root_cert");
  return settings;
}

}  // namespace atl::frontends
