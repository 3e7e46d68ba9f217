/// What answers the requests of an HttpServer: the one interface between the transport and what is served over
/// it. Nothing here is paid for more than once a request: a verdict is filled in place, and no thread shares
/// anything with another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "atoll/frontend/access.h"
#include "frontends/common/access/call_report.h"
#include "frontends/common/http/call.h"
#include "frontends/common/http/reply_head.h"
#include "frontends/common/http/request_counters.h"
#include "frontends/common/http/request_head.h"

namespace atl::frontends::http {

class ServerThread;

/// What a request's head alone decides. Kept by its connection until the request has been answered.
class Verdict {
 public:
  int http_status = 0;  ///< 0: make_call() gives the call that answers; else the answer, with `text`
  std::string text;     ///< of the refusal
  std::string extra;    ///< of the refusal: complete header lines
  std::string body;     ///< of the refusal, and its type, where the application gives one for this route
  std::string body_type;
  uint32_t category = RequestCounters::kUnjudged;  ///< as RequestCounters counts it
  /// What the caller has to be allowed, even to hear why the request is refused; empty: it may be anybody.
  std::optional<ApiCategory> guarded;
  std::string_view own_category;  ///< its name, if that is kOther; a view into `names`
  bool is_probe = false;          ///< it only asks whether the server lives or is ready
  bool goes_on = false;     ///< its answer may last: what its caller may do is looked at again meanwhile
  std::vector<char> names;  ///< for views of the route that the head itself does not have
  HttpRewrite rewrite;      ///< what the request stands for; with an empty path: for itself

  /// The request is not to have a call.
  void refuse(int status, std::string_view why) {
    http_status = status;
    text = why;
  }

  /// Where the request goes, in the application's own terms: a plain struct, which may have views into the
  /// head and into `names`; those hold as long as the head.
  template <class Route>
  Route& emplace_route() noexcept {
    static_assert(std::is_trivially_copyable_v<Route> && sizeof(Route) <= sizeof route_);
    return *::new (route_) Route();
  }
  /// What emplace_route() made.
  template <class Route>
  Route& route() noexcept {
    return *std::launder(reinterpret_cast<Route*>(route_));
  }
  template <class Route>
  const Route& route() const noexcept {
    return *std::launder(reinterpret_cast<const Route*>(route_));
  }

  /// Ready for the next request; keeps memory.
  void reset() noexcept {
    http_status = 0;
    text.clear();
    extra.clear();
    body.clear();
    is_probe = false;
    goes_on = false;
    if (!rewrite.path.empty()) rewrite = {};
    category = RequestCounters::kUnjudged;
    guarded.reset();
  }

 private:
  alignas(8) std::byte route_[96];
};

/// What one thread of a server answers with. Everything but its construction and its end runs on that thread.
class Handler {
 public:
  virtual ~Handler() = default;
  /// The head of a request is there. \param head  may be made what the request stands for, with views into the verdict
  /// \param verdict  as after reset(); access control is asked after this
  virtual void judge(RequestHead& head, Verdict& verdict) = 0;
  /// The request is complete. \param verdict  what judge() made of it; its body may have come long after
  /// \returns the call, which owns itself; null: there is none any more, and the verdict was made a refusal
  virtual Call* make_call(const RequestHead& head, Verdict& verdict) = 0;
  /// The request is refused after it was judged (who calls, or the size of its body), as the verdict says: it may be given
  /// an answer's body in the shape that clients of this route expect.
  virtual void on_refused(const RequestHead& /*head*/, Verdict& /*verdict*/) {}
  /// What the request is about, for the record.
  virtual void describe(const Verdict& /*verdict*/, CallReport& /*report*/) {}
};

/// Outlives its server.
class Application {
 public:
  /// [control] One for each thread, before it runs. Ended on [control] when the thread has ended.
  virtual std::unique_ptr<Handler> make_handler(ServerThread& thread) = 0;
  /// [any] Body of an answer that no call gives: a request that cannot be read, a verdict that refuses, a
  /// connection too many. \param head  status and extra lines are set; may be changed
  virtual std::string refusal_body(std::string_view text, ReplyHead& head) const = 0;
  /// [any] No connection will bring a further call, or none is to be answered. May be called again.
  virtual void close() noexcept = 0;
  /// [any] Calls under way, for which stop() waits.
  virtual int64_t calls() const noexcept = 0;

 protected:
  ~Application() = default;
};

}  // namespace atl::frontends::http
