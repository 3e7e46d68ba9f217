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

/// What access control sees of a request.
class AskedHead final : public CallHead {
 public:
  AskedHead(const RequestHead& head, int fd) : head_(head), fd_(fd) {}
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

 private:
  const RequestHead& head_;
  const int fd_;
};

}  // namespace

bool Connection::ask_access(const AccessPoint& access) {
  state_ = State::kAccess;
  deadline_.expect_nothing();
  asking_ = shared_from_this();
  const AskedHead head(reader_.head(), socket_.fd());
  auto post = [](void* self) noexcept {
    auto* connection = static_cast<Connection*>(self);
    connection->worker_.post(*connection);
  };
  const Verdict& verdict = exchange_.request().verdict();
  const ApiCategory category = *verdict.guarded;
  const std::string_view name =
      category == ApiCategory::kOther ? verdict.own_category : api_category_name(category);
  const bool settled = access_.ask(access, {category, name, CallProtocol::kHttp, head}, post, this);
  return settled && take_access();
}

bool Connection::take_access() {
  std::string_view caller;
  const Status answer = access_.take(&caller);
  const std::shared_ptr<Connection> self = std::move(asking_);
  if (state_ == State::kClosed) return false;
  state_ = State::kHead;
  reader_.identify(caller);
  if (!answer.ok()) {
    Verdict& verdict = exchange_.request().verdict();
    verdict.refuse(http_status(answer.code()), answer.message());
    verdict.extra.clear();
  }
  return begin_body();
}

void Connection::on_posted() noexcept {
  const std::shared_ptr<Connection> self = asking_;
  (void)take_access();
  advance();
}

}  // namespace atl::frontends::http
