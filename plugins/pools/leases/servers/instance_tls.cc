#include "pools/leases/servers/instance_tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace atl::pools {
namespace {

constexpr off_t kMaxPemBytes = 1 << 20;

struct OpensslFree {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};
template <class T>
using OpensslPtr = std::unique_ptr<T, OpensslFree>;

OpensslPtr<BIO> reader(const std::string& text) {
  return OpensslPtr<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// A file of an option, and what is wrong with it.
struct PemFile {
  std::string_view option;
  const std::string& path;

  Status unusable(std::string_view why) const {
    return invalid_argument("option '", option, "' names '", path, "', expected a readable PEM file: ", why);
  }
  Status read(std::string* text) const {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return unusable(std::strerror(errno));
    if (!S_ISREG(info.st_mode)) return unusable("it is not a regular file");
    if (info.st_size > kMaxPemBytes)
      return unusable(cat("it has ", info.st_size, " bytes, at most ", kMaxPemBytes));
    std::ifstream file(path, std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    if (!file) return unusable(std::strerror(errno));
    *text = content.str();
    return {};
  }
};

Status check_roots(const PemFile& file, const std::string& text) {
  const OpensslPtr<BIO> bio = reader(text);
  size_t count = 0;
  while (OpensslPtr<X509>(PEM_read_bio_X509(bio.get(), nullptr, nullptr, const_cast<char*>("")))) ++count;
  const unsigned long error = ERR_peek_last_error();
  const bool is_whole = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (count == 0) return file.unusable("it has no CERTIFICATE");
  return is_whole ? Status() : file.unusable("a certificate of it cannot be read");
}

Status check_pair(const PemFile& cert_file, const PemFile& key_file, const RemoteTls& read) {
  const OpensslPtr<BIO> cert_text = reader(read.client_cert), key_text = reader(read.client_key);
  const OpensslPtr<X509> cert(PEM_read_bio_X509(cert_text.get(), nullptr, nullptr, const_cast<char*>("")));
  const OpensslPtr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, const_cast<char*>("")));
  const bool belong = cert != nullptr && key != nullptr && X509_check_private_key(cert.get(), key.get()) == 1;
  ERR_clear_error();
  if (cert == nullptr) return cert_file.unusable("it has no CERTIFICATE");
  if (key == nullptr) return key_file.unusable("it has no PRIVATE KEY without a password");
  if (!belong) return key_file.unusable("it is not the key of the certificate of 'client_cert'");
  if (X509_cmp_current_time(X509_get0_notAfter(cert.get())) < 0)
    return cert_file.unusable("its certificate has expired");
  return {};
}

bool is_same(const RemoteTls& a, const RemoteTls& b) {
  return a.root_cert == b.root_cert && a.client_cert == b.client_cert && a.client_key == b.client_key;
}

}  // namespace

Result<InstanceTlsSettings> InstanceTlsSettings::read(const Options& options) {
  InstanceTlsSettings settings;
  settings.use_ssl = options.get_bool("use_ssl");
  settings.on_loopback = options.get_bool("ssl_on_loopback");
  settings.root_cert = options.get_string("root_cert");
  settings.client_cert = options.get_string("client_cert");
  settings.client_key = options.get_string("client_key");
  settings.server_name = options.get_string("ssl_server_name");
  settings.poll_interval_ns = options.get_duration_ns("ssl_poll_interval");
  if (!settings.use_ssl) return settings;
  if (settings.root_cert.empty())
    return invalid_argument(
        "option 'root_cert' is empty, expected the path of a PEM file, because 'use_ssl' is true");
  if (settings.client_cert.empty() != settings.client_key.empty())
    return invalid_argument("option '", settings.client_cert.empty() ? "client_cert" : "client_key",
                            "' is empty, expected the path of a PEM file, because '",
                            settings.client_cert.empty() ? "client_key" : "client_cert", "' is given");
  return settings;
}

Result<std::shared_ptr<const RemoteTls>> read_instance_tls(const InstanceTlsSettings& settings) {
  if (!settings.use_ssl) return std::shared_ptr<const RemoteTls>();
  auto rules = std::make_shared<RemoteTls>();
  rules->server_name = settings.server_name;
  const PemFile root{"root_cert", settings.root_cert};
  ATOLL_RETURN_IF_ERROR(root.read(&rules->root_cert));
  ATOLL_RETURN_IF_ERROR(check_roots(root, rules->root_cert));
  if (settings.client_cert.empty()) return std::shared_ptr<const RemoteTls>(std::move(rules));
  const PemFile cert{"client_cert", settings.client_cert}, key{"client_key", settings.client_key};
  ATOLL_RETURN_IF_ERROR(cert.read(&rules->client_cert));
  ATOLL_RETURN_IF_ERROR(key.read(&rules->client_key));
  ATOLL_RETURN_IF_ERROR(check_pair(cert, key, *rules));
  return std::shared_ptr<const RemoteTls>(std::move(rules));
}

bool is_loopback(const std::string& host) noexcept {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return host == "localhost";
}

Status InstanceTls::start(Host& host) {
  if (!settings_.use_ssl) return {};
  watch_.emplace(host,
                 std::vector<std::string>{settings_.root_cert, settings_.client_cert, settings_.client_key},
                 settings_.poll_interval_ns, [this, &host] { renew(host); });
  // Before the files are read: what changes meanwhile is seen by the next look.
  ATOLL_RETURN_IF_ERROR(watch_->start("pools-tls"));
  Result<std::shared_ptr<const RemoteTls>> read = read_instance_tls(settings_);
  if (!read.ok()) return std::move(read).status();
  const std::scoped_lock lock(mutex_);
  rules_ = std::move(read).value();
  return {};
}

void InstanceTls::renew(Host& host) {
  Result<std::shared_ptr<const RemoteTls>> read = read_instance_tls(settings_);
  if (!read.ok())
    return host.log().error("the TLS files are not taken, those read before go on: ",
                            read.status().message());
  {
    const std::scoped_lock lock(mutex_);
    if (rules_ != nullptr && is_same(*rules_, *read.value())) return;
    rules_ = std::move(read).value();
  }
  host.log().info("TLS files were read again: connections to instances are made by them from now on");
}

std::shared_ptr<const RemoteTls> InstanceTls::of(const HostPort& address) const noexcept {
  if (!settings_.use_ssl || (!settings_.on_loopback && is_loopback(address.host))) return nullptr;
  const std::scoped_lock lock(mutex_);
  return rules_;
}

}  // namespace atl::pools
