#include "frontends/grpc_nghttp2/certificates.h"

#include <openssl/evp.h>

#include <utility>

namespace atl::frontends::grpc_nghttp2 {
namespace {

std::string digest_of(const TlsFiles& files) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const std::string all = cat(files.server_cert, '\0', files.server_key, '\0', files.root_cert);
  EVP_Digest(all.data(), all.size(), digest, &size, EVP_sha256(), nullptr);
  return {reinterpret_cast<char*>(digest), size};
}

}  // namespace

Result<TlsContext> read_certificates(const GrpcSettings& settings, std::string* digest) {
  Result<TlsFiles> files = read_tls_files(settings.tls);
  if (!files.ok()) return std::move(files).status();
  *digest = digest_of(files.value());
  Result<TlsContext> context = TlsContext::make({.server_cert = std::move(files->server_cert),
                                                 .server_key = std::move(files->server_key),
                                                 .root_cert = std::move(files->root_cert),
                                                 .mutual = settings.tls.mutual});
  if (context.ok()) return context;
  return unusable_tls_files(settings.address, settings.tls, context.status().message());
}

Status Certificates::open() {
  Result<TlsContext> context = read_certificates(settings_, &digest_);
  if (!context.ok()) return std::move(context).status();
  const std::string problem = context->time_problem();
  if (!problem.empty()) {
    host_.log().warning("clients will refuse the certificate of '", settings_.tls.server_cert,
                        "': ", problem);
  }
  host_.log().info("TLS with the certificate of ", context->certificate_text());
  listener_ = std::make_unique<TlsListener>(std::move(context).value(), host_.clock(), host_.log());
  return state_changed_.open(host_.events());
}

void Certificates::renew() noexcept {
  std::string digest;
  Result<TlsContext> context = read_certificates(settings_, &digest);
  if (context.ok() && digest == digest_) return;
  const std::string why = context.ok() ? context->time_problem() : std::string(context.status().message());
  if (!why.empty()) {
    return host_.log().error("the TLS files are not taken, those read before go on serving: ", why);
  }
  const std::string certificate = context->certificate_text();
  listener_->renew(std::move(context).value());
  digest_ = std::move(digest);
  host_.log().info("TLS files were read again: connections from now on get the certificate of ", certificate);
}

}  // namespace atl::frontends::grpc_nghttp2
