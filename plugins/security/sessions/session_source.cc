#include "security/sessions/session_source.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/text.h"
#include "atoll/lib/http_origin.h"

namespace atl::sessions {
namespace {

constexpr size_t kMostValues = 4;

std::vector<std::string_view> values_of(const CallHead& head, std::string_view name) {
  std::array<std::string_view, kMostValues> values;
  const size_t count = std::min(head.find(name, values), values.size());
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// A call that presents a token in place of the cookie.
class TokenHead final : public CallHead {
 public:
  TokenHead(std::string_view token, std::string peer)
      : value_(cat("Bearer ", token)), peer_(std::move(peer)) {}
  virtual ~TokenHead() = default;
  size_t find(std::string_view name, std::span<std::string_view> values) const noexcept override {
    if (name != "authorization") return 0;
    if (!values.empty()) values[0] = value_;
    return 1;
  }
  std::string peer() const noexcept override { return peer_; }

 private:
  const std::string value_;
  const std::string peer_;
};

}  // namespace

std::string_view session_id(const std::vector<std::string_view>& headers) noexcept {
  std::string_view found;
  for (std::string_view rest : headers) {
    while (!rest.empty()) {
      const auto end = static_cast<size_t>(std::find(rest.begin(), rest.end(), ';') - rest.begin());
      std::string_view pair = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      while (pair.starts_with(' ')) pair.remove_prefix(1);
      if (!pair.starts_with(kCookie) || pair.substr(kCookie.size(), 1) != "=") continue;
      // Two of them: the page of another port or path may have set one.
      if (!found.empty()) return {};
      found = pair.substr(kCookie.size() + 1);
    }
  }
  return found;
}

bool is_own_page(const PageCall& call) noexcept {
  if (call.own.size() != 1 || call.own.front() != "1" || call.hosts.size() != 1) return false;
  return std::all_of(call.origins.begin(), call.origins.end(),
                     [&](std::string_view origin) { return is_origin_of(origin, call.hosts.front()); });
}

/// Another source's identity, with the hold on that source, whose code it has.
class SessionSource::SessionIdentity final : public Identity {
 public:
  SessionIdentity(Replaceable<Sources>::Hold sources, std::shared_ptr<const Identity> identity,
                  const Clock& clock, int64_t ends_ns) noexcept
      : sources_(std::move(sources)), identity_(std::move(identity)), clock_(clock), ends_ns_(ends_ns) {}
  ~SessionIdentity() override = default;

  std::string_view name() const noexcept override { return identity_->name(); }
  std::string_view tenant() const noexcept override { return identity_->tenant(); }
  bool may(ApiCategory category, std::string_view category_name,
           std::string_view model) const noexcept override {
    return identity_->may(category, category_name, model);
  }
  bool may_all(ApiCategory category, std::string_view category_name) const noexcept override {
    return identity_->may_all(category, category_name);
  }
  bool holds() const noexcept override {
    return !sources_.is_outdated() && identity_->holds() && clock_.now_ns() < ends_ns_;
  }

 private:
  Replaceable<Sources>::Hold sources_;
  std::shared_ptr<const Identity> identity_;  ///< ends before the sources
  const Clock& clock_;
  const int64_t ends_ns_;
};

SessionSource::SessionSource(Host& host, SessionTable& table)
    : host_(host), table_(table), watch_(host, [this]() -> Result<Service<Access>> {
        Sources sources = find_sources();
        if (sources.list.empty()) {
          host_.log().warning(
              "there is no other source of identities, so nobody can log in: add one, such as security/keys");
          sources_.replace(std::nullopt);
        } else {
          sources_.replace(std::move(sources));
        }
        return not_found("sources are held apart");
      }) {}

void SessionSource::close() noexcept {
  watch_.close();
  sources_.close();
}

SessionSource::Sources SessionSource::find_sources() noexcept {
  std::vector<ServiceInfo> providers = host_.registry().list(Access::kInterfaceId);
  std::stable_sort(providers.begin(), providers.end(),
                   [](const ServiceInfo& left, const ServiceInfo& right) { return left.rank > right.rank; });
  Sources sources;
  for (const ServiceInfo& info : providers) {
    if (info.instance == host_.instance_name()) continue;
    Result<Service<Access>> provider = host_.registry().find<Access>(info.instance);
    if (!provider.ok() || provider.value().minor() < 1 || (provider.value()->roles() & kKnowsCallers) == 0)
      continue;
    sources.list.push_back(std::move(provider).value());
  }
  return sources;
}

Result<IdentityOutcome> SessionSource::identify(const AccessQuestion& question,
                                                std::shared_ptr<const Identity>* identity) const noexcept {
  if (question.protocol != CallProtocol::kHttp) return IdentityOutcome::kNotMine;
  if (question.category_name == kPageCategory || question.category_name == kLoginCategory)
    return IdentityOutcome::kOpen;
  // Who presents a token is who that says.
  if (question.head.find("authorization", {}) != 0 || question.head.find("cookie", {}) == 0)
    return IdentityOutcome::kNotMine;
  IdentityOutcome outcome = IdentityOutcome::kNotMine;
  Status status = guarded("looking for a session", [&]() -> Status {
    const PageCall call{values_of(question.head, kOwnHeader), values_of(question.head, "origin"),
                        values_of(question.head, "host")};
    if (!is_own_page(call)) return {};
    const std::string_view id = session_id(values_of(question.head, "cookie"));
    const SessionTable::Found session = table_.find(id);
    if (session.token.empty()) return {};
    Result<std::shared_ptr<const Identity>> found = identify_token(session.token, session.ends_ns, question);
    if (found.ok()) {
      *identity = std::move(found).value();
      outcome = IdentityOutcome::kKnown;
      return {};
    }
    if (found.status().code() != Code::kUnauthenticated) return std::move(found).status();
    table_.remove(id);
    return {};
  });
  if (!status.ok()) return status;
  return outcome;
}

Result<std::shared_ptr<const Identity>> SessionSource::owner_of(std::string_view token) const {
  const TokenHead head(token, {});
  return identify_token(token, INT64_MAX, {ApiCategory::kOther, "console.read", CallProtocol::kHttp, head});
}

Result<std::shared_ptr<const Identity>> SessionSource::identify_token(std::string_view token, int64_t ends_ns,
                                                                      const AccessQuestion& question) const {
  auto sources = sources_.hold();
  if (!sources) return unavailable("there is no source of identities");
  const TokenHead head(token, question.head.peer());
  const AccessQuestion asked{question.category, question.category_name, question.protocol, head};
  bool is_unsure = false;
  for (const Service<Access>& source : sources->list) {
    std::shared_ptr<const Identity> found;
    Result<IdentityOutcome> outcome = source->identify(asked, &found);
    if (outcome.ok() && *outcome == IdentityOutcome::kKnown && found != nullptr) {
      return std::shared_ptr<const Identity>(
          std::make_shared<SessionIdentity>(std::move(sources), std::move(found), host_.clock(), ends_ns));
    }
    if (!outcome.ok() && outcome.status().code() == Code::kUnauthenticated)
      return std::move(outcome).status();
    is_unsure = is_unsure || !outcome.ok();
  }
  if (is_unsure) return unavailable("it cannot be found out now who calls");
  return make_status(Code::kUnauthenticated, "nobody's token");
}

}  // namespace atl::sessions
