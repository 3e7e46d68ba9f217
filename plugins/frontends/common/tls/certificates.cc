#include "frontends/common/tls/certificates.h"

#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "atoll/core/stop_executor.h"

namespace atl::frontends {
namespace {

std::string digest_of(const TlsFiles& files) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const std::string all = cat(files.server_cert, '\0', files.server_key, '\0', files.root_cert);
  EVP_Digest(all.data(), all.size(), digest, &size, EVP_sha256(), nullptr);
  return {reinterpret_cast<char*>(digest), size};
}

}  // namespace

Result<TlsContext> read_certificates(const TlsSetup& setup, std::string* digest) {
  ATOLL_RETURN_IF_ERROR(check_ciphers(setup.rules));
  Result<TlsFiles> files = read_tls_files(setup.files);
  if (!files.ok()) return std::move(files).status();
  *digest = digest_of(files.value());
  Result<TlsContext> context = TlsContext::make({.server_cert = std::move(files->server_cert),
                                                 .server_key = std::move(files->server_key),
                                                 .root_cert = std::move(files->root_cert),
                                                 .mutual = setup.files.mutual},
                                                setup.protocol, setup.rules);
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

Certificates::~Certificates() { stop_executor(executor_); }

Status Certificates::start() {
  seen_ = last_seen_ = marks();
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
  ATOLL_RETURN_IF_ERROR(state_changed_.open(host_.events()));
  if (setup_.rules.poll_interval_ns == 0) return {};
  Result<SerialExecutorPtr> executor = host_.executors().create("tls-files", {});
  if (!executor.ok()) return std::move(executor).status();
  executor_ = std::move(executor).value();
  look_later(setup_.rules.poll_interval_ns);
  return {};
}

void Certificates::renew() noexcept {
  const std::lock_guard lock(mutex_);
  std::string digest;
  Result<TlsContext> context = read_certificates(setup_, &digest);
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

std::string Certificates::marks() const {
  std::string all;
  for (const std::string* path :
       {&setup_.files.server_cert, &setup_.files.server_key, &setup_.files.root_cert}) {
    struct stat info {};
    if (path->empty() || ::stat(path->c_str(), &info) != 0) info = {};
    all += cat(info.st_dev, ' ', info.st_ino, ' ', info.st_size, ' ', info.st_mtim.tv_sec, ' ',
               info.st_mtim.tv_nsec, ' ', info.st_ctim.tv_sec, ' ', info.st_ctim.tv_nsec, '\n');
  }
  return all;
}

// Read when two looks in a row have found the same: what is being written is not.
void Certificates::look() noexcept {
  std::string now = marks();
  const bool is_quiet = now == last_seen_;
  last_seen_ = std::move(now);
  if (is_quiet && last_seen_ != seen_) {
    seen_ = last_seen_;
    renew();
  }
  const int64_t interval = setup_.rules.poll_interval_ns;
  look_later(last_seen_ == seen_ ? interval : std::min(interval, kQuietNs));
}

void Certificates::look_later(int64_t after_ns) noexcept {
  executor_->post_at(host_.clock().now_ns() + after_ns,
                     Task{[](void* self) { static_cast<Certificates*>(self)->look(); }, this, nullptr});
}

}  // namespace atl::frontends
