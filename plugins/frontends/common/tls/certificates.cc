#include "frontends/common/tls/certificates.h"

#include <openssl/evp.h>

#include <utility>

namespace atl::frontends {
namespace {

std::string digest_of(const TlsFiles& files) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const std::string all = cat(files.server_cert, '\0', files.server_key, '\0', files.root_cert);
  EVP_Digest(all.data(), all.size(), digest, &size, EVP_sha256(), nullptr);
  return {reinterpret_cast<char*>(digest), size};
}

Result<TlsContext> context_of(const TlsSetup& setup, TlsFiles files) {
  return TlsContext::make({.server_cert = std::move(files.server_cert),
                           .server_key = std::move(files.server_key),
                           .root_cert = std::move(files.root_cert),
                           .mutual = setup.files.mutual,
                           .require_client_cert = setup.files.require_client_cert},
                          setup.protocol, setup.rules);
}

}  // namespace

Result<TlsContext> read_certificates(const TlsSetup& setup, std::string* digest) {
  ATOLL_RETURN_IF_ERROR(check_ciphers(setup.rules));
  Result<TlsFiles> files = read_tls_files(setup.files);
  if (!files.ok()) return std::move(files).status();
  *digest = digest_of(files.value());
  Result<TlsContext> context = context_of(setup, std::move(files).value());
  if (context.ok()) return context;
  return unusable_tls_files(setup.who, setup.address, setup.files, context.status().message());
}

void check_tls(const TlsSetup* setup, OptionCheck& check) {
  check.passes({}, check_ciphers(TlsRules::read(check.options())));
  check_tls_files(check);
  std::string digest;
  if (setup != nullptr && setup->files.use_ssl) check.whole(read_certificates(*setup, &digest));
}

Result<std::unique_ptr<Certificates>> Certificates::open(Host& host, TlsSetup setup) {
  if (!setup.files.use_ssl) return std::unique_ptr<Certificates>();
  std::unique_ptr<Certificates> certificates(new Certificates(host, std::move(setup)));
  ATOLL_RETURN_IF_ERROR(certificates->start());
  return certificates;
}

Certificates::Certificates(Host& host, TlsSetup setup)
    : host_(host),
      setup_(std::move(setup)),
      watch_(host, {setup_.files.server_cert, setup_.files.server_key, setup_.files.root_cert},
             setup_.rules.poll_interval_ns, [this] { renew(); }) {}

Status Certificates::start() {
  const std::lock_guard lock(mutex_);
  // Before the files are read: what changes meanwhile is seen by the next look.
  ATOLL_RETURN_IF_ERROR(watch_.start("tls-files"));
  Result<TlsContext> context = read_certificates(setup_, &digest_);
  if (!context.ok()) return std::move(context).status();
  const std::string problem = context->time_problem();
  if (!problem.empty()) {
    host_.log().warning("clients will refuse the certificate of '", setup_.files.server_cert, "': ", problem);
  }
  host_.log().info("TLS with the certificate of ", context->certificate_text());
  const uint32_t handshakes = (setup_.rules.max_handshakes + setup_.threads - 1) / setup_.threads;
  listener_ =
      std::make_unique<TlsListener>(std::move(context).value(), host_.clock(), host_.log(), handshakes);
  return {};
}

void Certificates::renew() noexcept {
  const std::lock_guard lock(mutex_);
  if (listener_ == nullptr) return;  // nothing could be read at the start
  constexpr std::string_view kNotTaken = "the TLS files are not taken, those read before go on serving: ";
  Result<TlsFiles> files = read_tls_files(setup_.files);
  if (!files.ok()) return host_.log().error(kNotTaken, files.status().message());
  std::string digest = digest_of(files.value());
  Result<TlsContext> context = context_of(setup_, std::move(files).value());
  if (context.ok() && digest == digest_) return;
  if (!context.ok()) {
    return host_.log().error(
        kNotTaken, context.status().message(), " (server_cert '", setup_.files.server_cert, "', server_key '",
        setup_.files.server_key, "'",
        setup_.files.root_cert.empty() ? "" : cat(", root_cert '", setup_.files.root_cert, "'"), ")");
  }
  if (const std::string why = context->time_problem(); !why.empty()) return host_.log().error(kNotTaken, why);
  const std::string certificate = context->certificate_text();
  listener_->renew(std::move(context).value());
  digest_ = std::move(digest);
  host_.log().info("TLS files were read again: connections from now on get the certificate of ", certificate);
}

}  // namespace atl::frontends
