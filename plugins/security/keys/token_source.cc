#include "security/keys/token_source.h"

#include <array>
#include <utility>

#include "security/common/bearer_token.h"

namespace atl::keys {

TokenSource::TokenSource(Host& host, std::string path, bool opens_probes, int64_t poll_interval_ns)
    : host_(host),
      path_(std::move(path)),
      opens_probes_(opens_probes),
      watch_(host, {path_}, poll_interval_ns, [this] { renew(); }) {}

Status TokenSource::start() {
  // Before the file is read: what changes meanwhile is seen by the next look.
  ATOLL_RETURN_IF_ERROR(watch_.start("keys-file"));
  return read();
}

Status TokenSource::read() {
  const std::lock_guard lock(mutex_);
  Result<std::shared_ptr<KeySet>> keys = KeySet::read(path_);
  if (!keys.ok()) return std::move(keys).status();
  const std::shared_ptr<KeySet> before = std::exchange(newest_, std::move(keys).value());
  keys_.replace(newest_);
  if (before != nullptr) before->outdate();
  if (newest_->size() == 0) {
    host_.log().warning("the file of keys '", path_, "' has no key: every call but a probe is refused");
  } else {
    host_.log().info("the file of keys '", path_, "' was read: ", newest_->size(), " keys");
  }
  return {};
}

void TokenSource::renew() noexcept {
  if (Status status = read(); !status.ok())
    host_.log().error("the keys are not taken, those read before go on: ", status.message());
}

Result<IdentityOutcome> TokenSource::identify(const AccessQuestion& question,
                                              std::shared_ptr<const Identity>* identity) const noexcept {
  if (question.is_probe && opens_probes_) return IdentityOutcome::kOpen;
  std::array<std::string_view, 1> headers;
  const size_t count = question.head.find("authorization", headers);
  if (count > 1) return make_status(Code::kUnauthenticated, "several credentials");
  const std::string_view token = count == 0 ? std::string_view() : security::bearer_token(headers[0]);
  const bool is_mine = token.starts_with(kKeyTokenBegin);
  if (!is_mine && !token.empty()) return IdentityOutcome::kNotMine;
  const auto keys = keys_.hold();
  if (!keys || (*keys)->size() == 0) return unavailable("there are no keys");
  if (!is_mine) return IdentityOutcome::kNotMine;
  *identity = KeySet::find(*keys, token);
  if (*identity == nullptr) return make_status(Code::kUnauthenticated, "no such token");
  return IdentityOutcome::kKnown;
}

}  // namespace atl::keys
