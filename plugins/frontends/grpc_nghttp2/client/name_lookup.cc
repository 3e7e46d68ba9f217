#include "frontends/grpc_nghttp2/client/name_lookup.h"

#include <netdb.h>

#include <memory>
#include <utility>

namespace atl::frontends::grpc_nghttp2 {

/// On its way to the other thread and back; owns itself. It holds a pass of the gate, so that the loop is there.
class NameLookup::Question final : public Posted {
 public:
  Question(EventLoop& loop, HostPort server, NameLookup& lookup, LookupUser& user, Pass pass)
      : loop_(loop), server_(std::move(server)), pass_(std::move(pass)), lookup_(&lookup), user_(&user) {}
  virtual ~Question() = default;

  /// [another thread]
  void ask() noexcept {
    reason_ = resolve_address(server_, 0, &address_);
    loop_.post(*this);
  }
  void on_posted() noexcept override {
    // The pass goes last.
    const std::unique_ptr<Question> self(this);
    if (lookup_ == nullptr) return;
    lookup_->question_ = nullptr;
    if (reason_.empty()) {
      user_->on_found(address_);
    } else {
      user_->on_not_found(std::move(reason_));
    }
  }
  void forget_user() noexcept { lookup_ = nullptr; }

 private:
  EventLoop& loop_;
  const HostPort server_;
  Pass pass_;
  NameLookup* lookup_;  ///< null: nobody waits any more; [loop]
  LookupUser* user_;
  SocketAddress address_;
  std::string reason_;
};

void NameLookup::start(GrpcCallContext& frontend, EventLoop& loop, const HostPort& server,
                       LookupUser& user) noexcept {
  SocketAddress address;
  if (resolve_address(server, AI_NUMERICHOST, &address).empty()) return user.on_found(address);
  Pass pass = frontend.calls.enter();
  if (!pass) return user.on_not_found("this server is shutting down");
  question_ = new Question(loop, server, *this, user, std::move(pass));
  frontend.large_work->post(make_task([question = question_] { question->ask(); }));
}

void NameLookup::cancel() noexcept {
  if (Question* question = std::exchange(question_, nullptr); question != nullptr) question->forget_user();
}

}  // namespace atl::frontends::grpc_nghttp2
