// Whether a connection's request may be made: asked when its head is there, perhaps answered later.
#include <strings.h>

#include <span>
#include <utility>

#include "frontends/common/codec/error_map.h"
#include "frontends/common/http/connection.h"
#include "frontends/common/http/serving_thread.h"
#include "frontends/common/sockets/peer_address.h"

namespace atl::frontends::http {
namespace {

constexpr std::string_view kAuthenticate =
    "WWW-Authenticate: Bearer realm=\"atoll\", error=\"invalid_token\"\r\n";

constexpr std::string_view kAuthorization = "authorization";
/// Where a proxy says who its client is.
constexpr std::string_view kForwardedCertificate = "x-forwarded-client-cert";

const ClientCertificate* certificate_of(ClientSocket& socket) noexcept {
  return socket.bytes().tls() == nullptr ? nullptr : socket.bytes().tls()->client().get();
}

/// What access control sees of a request.
class AskedHead final : public CallHead {
 public:
  AskedHead(const RequestHead& head, ClientSocket& socket)
      : head_(head), fd_(socket.fd()), certificate_(certificate_of(socket)) {}
  virtual ~AskedHead() = default;

  size_t find(std::string_view name, std::span<std::string_view> values) const noexcept override {
    size_t count = 0;
    for (const HeaderField& field : head_.fields) {
      if (field.name.size() != name.size() || strncasecmp(field.name.data(), name.data(), name.size()) != 0)
        continue;
      if (count < values.size()) values[count] = field.value;
      ++count;
    }
    return count;
  }
  std::string peer() const noexcept override { return peer_address(fd_); }
  const ClientCertificate* certificate() const noexcept override { return certificate_; }

 private:
  const RequestHead& head_;
  const int fd_;
  const ClientCertificate* const certificate_;
};

/// What is kept of the head of a request that is being answered.
class KeptHead final : public CallHead {
 public:
  KeptHead(const Connection::Credential& credential, ClientSocket& socket)
      : credential_(credential), fd_(socket.fd()), certificate_(certificate_of(socket)) {}
  virtual ~KeptHead() = default;

  size_t find(std::string_view name, std::span<std::string_view> values) const noexcept override {
    const std::string& value = name == kAuthorization ? credential_.authorization : credential_.certificate;
    if ((name != kAuthorization && name != kForwardedCertificate) || value.empty()) return 0;
    if (!values.empty()) values[0] = value;
    return 1;
  }
  std::string peer() const noexcept override { return peer_address(fd_); }
  const ClientCertificate* certificate() const noexcept override { return certificate_; }

 private:
  const Connection::Credential& credential_;
  const int fd_;
  const ClientCertificate* const certificate_;
};

std::string_view name_of(const Verdict& verdict) noexcept {
  return *verdict.guarded == ApiCategory::kOther ? verdict.own_category : api_category_name(*verdict.guarded);
}

}  // namespace

bool Connection::ask_access(const AccessPoint& access) {
  state_ = State::kAccess;
  deadline_.expect_nothing();
  asking_ = shared_from_this();
  const AskedHead head(reader_.head(), socket_);
  auto post = [](void* self) noexcept {
    auto* connection = static_cast<Connection*>(self);
    connection->worker_.post(*connection);
  };
  const Verdict& verdict = exchange_.request().verdict();
  const ApiCategory category = *verdict.guarded;
  const std::string_view name = name_of(verdict);
  if (access.has_sources()) {
    std::string_view authorization, certificate;
    (void)head.find(kAuthorization, {&authorization, 1});
    (void)head.find(kForwardedCertificate, {&certificate, 1});
    credential_.authorization = authorization;
    credential_.certificate = certificate;
  }
  const CallerPlace place{worker_.last_callers, reinterpret_cast<uintptr_t>(this)};
  const bool settled =
      access_.ask(access, {category, name, CallProtocol::kHttp, head, verdict.is_probe},
                  {.method = reader_.head().method, .path = reader_.head().path, .goes_on = verdict.goes_on},
                  post, this, &place);
  if (CallReport* const report = access_.report(); report != nullptr)
    worker_.handler().describe(verdict, *report);
  return settled && take_access();
}

bool Connection::may_go_on() noexcept {
  const AccessPoint& access = worker_.server.access;
  const CallerIdentityPtr& identity = access_.identity();
  const Verdict& verdict = exchange_.request().verdict();
  if (identity == nullptr ? !access.has_sources() : identity->holds()) return true;
  if (!verdict.guarded || verdict.is_probe) return true;
  const KeptHead head(credential_, socket_);
  const ApiCategory category = *verdict.guarded;
  const bool may = access_.renew(access, {category, name_of(verdict), CallProtocol::kHttp, head});
  reader_.identify(reader_.head().caller, access_.identity());
  return may;
}

bool Connection::take_access() {
  std::string_view caller;
  const Status answer = access_.take(&caller);
  const std::shared_ptr<Connection> self = std::move(asking_);
  if (state_ == State::kClosed) {
    access_.forget();
    return false;
  }
  state_ = State::kHead;
  reader_.identify(caller, access_.identity());
  if (!answer.ok()) {
    Verdict& verdict = exchange_.request().verdict();
    verdict.refuse(http_status(answer.code()), answer.message());
    verdict.extra.clear();
    if (access_.is_about_caller()) {
      if (answer.code() == Code::kUnauthenticated) verdict.extra = kAuthenticate;
      worker_.handler().on_refused(reader_.head(), verdict);
    }
  }
  return begin_body();
}

void Connection::on_posted() noexcept {
  const std::shared_ptr<Connection> self = asking_;
  (void)take_access();
  advance();
}

}  // namespace atl::frontends::http
