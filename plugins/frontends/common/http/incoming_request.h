/// One request as it comes: when, what its head decides, and what its body takes of the memory of requests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "frontends/common/call/request_charge.h"
#include "frontends/common/http/application.h"
#include "frontends/common/http/client/client_deadline.h"
#include "frontends/common/http/request_reader.h"

namespace atl::frontends::http {

class ServingThread;

/// One after the other of one connection. Not thread safe.
class IncomingRequest {
 public:
  /// \param worker  the connection's; all outlive this
  IncomingRequest(ServingThread& worker, RequestReader& reader, ClientDeadline& deadline) noexcept;
  IncomingRequest(const IncomingRequest&) = delete;
  IncomingRequest& operator=(const IncomingRequest&) = delete;

  /// Its first byte is there.
  void begin() noexcept;
  /// That was so, and it has not been answered.
  bool has_begun() const noexcept { return has_begun_; }
  /// Its head has come, and can be read.
  void judge();
  /// What that, or access control, has decided.
  Verdict& verdict() noexcept { return verdict_; }
  bool is_refused() const noexcept { return verdict_.http_status != 0; }
  /// The answer is its headers alone: a page of another origin has asked what it may do.
  bool is_preflight() const noexcept;
  /// Complete header lines of every answer to it.
  const std::string& answer_lines() const noexcept { return answer_lines_; }

  /// Its body is next. Refused if all requests would take too much memory with it.
  void begin_body() noexcept;
  /// The client sends the body when it is told to.
  bool awaits_continue() const noexcept;
  /// Counts what has come of the body. False: all requests would take too much memory; the body is dropped,
  /// what comes of it is read over, and the answer says why.
  bool count_body() noexcept;
  /// All of it has come.
  void complete() noexcept;
  int64_t first_byte_ns() const noexcept { return first_byte_ns_; }
  int64_t last_byte_ns() const noexcept { return last_byte_ns_; }
  /// What was charged for the body.
  RequestCharge take_charge() noexcept { return std::move(charge_); }
  /// It is answered, or never will be: what it has taken is given back.
  void end() noexcept;

 private:
  void drop_body(const Status& reason) noexcept;

  ServingThread& worker_;
  RequestReader& reader_;
  ClientDeadline& deadline_;
  RequestCharge charge_;  ///< for the body, until the call takes it
  bool has_begun_ = false;
  int64_t first_byte_ns_ = 0;
  int64_t last_byte_ns_ = 0;
  uint64_t bytes_at_first_ = 0;  ///< what the reader had received when the first one was seen
  Verdict verdict_;
  std::string answer_lines_;
};

}  // namespace atl::frontends::http
