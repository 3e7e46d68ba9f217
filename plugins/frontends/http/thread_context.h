/// What the calls of one thread share, and how the thread finds the call for a request.
#pragma once

#include <memory>
#include <vector>

#include "frontends/common/http/application.h"
#include "frontends/common/http/server_thread.h"
#include "frontends/http/codec/generate.h"
#include "frontends/http/codec/infer_request.h"
#include "frontends/http/contributed_routes.h"
#include "frontends/http/http_context.h"
#include "frontends/http/remote_connections.h"

namespace atl::frontends::http {

class HttpInferCall;

/// Only post() and is_current() are for other threads.
class ThreadContext final : public Handler {
 public:
  ThreadContext(HttpContext& shared, ServerThread& thread);
  ThreadContext(const ThreadContext&) = delete;
  ThreadContext& operator=(const ThreadContext&) = delete;
  ~ThreadContext() override;

  HttpContext& frontend;
  InferRequestReader infer_reader;
  GenerateRequestReader generate_reader;
  BufferPool& buffers;
  std::vector<std::unique_ptr<HttpInferCall>> idle_infer_calls;
  RemoteConnections remote_connections;

  /// [any] As ServerThread's.
  bool is_current() const noexcept { return thread_.is_current(); }
  void post(Posted& item) noexcept { thread_.post(item); }

  // --- Handler ---
  void judge(RequestHead& head, Verdict& verdict) override;
  Call* make_call(const RequestHead& head, Verdict& verdict) override;
  void on_refused(const RequestHead& head, Verdict& verdict) override;
  void describe(const Verdict& verdict, CallReport& report) override;

 private:
  /// Whether the option only_routes lists the path.
  bool answers(std::string_view path) const noexcept;
  /// Of a path that is not of the frontend's own table. \param route  null: nor of another plugin's
  void judge_contributed(const ContributedRoute* route, const RequestHead& head, Verdict& verdict);
  /// Where page_refusal() says so.
  void refuse_page(const RequestHead& head, Verdict& verdict);
  /// \returns whether the request stands for a call of the frontend's own: the head and the route are that call's then
  bool rewrite(const ContributedRoute& route, RequestHead& head, Verdict& verdict);
  void judge_own(const RequestHead& head, Verdict& verdict);
  Call* make_contributed(const RequestHead& head, Verdict& verdict);
  /// Null: no other server answers; or the verdict is a refusal.
  Call* make_passed_on(const RequestHead& head, Verdict& verdict);

  ServerThread& thread_;
};

}  // namespace atl::frontends::http
