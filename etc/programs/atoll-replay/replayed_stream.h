/// One ModelStreamInfer call, for the requests that were recorded on one stream.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "grpc_service.grpc.pb.h"
#include "sender.h"

namespace atl::replay {

/// Requests are known again by ids of this program's own, as those of clients need not differ. [any]
class ReplayedStream final : public std::enable_shared_from_this<ReplayedStream> {
 public:
  /// \param ended  called once, when the call is over and everything was told
  static std::shared_ptr<ReplayedStream> begin(inference::GRPCInferenceService::Stub& stub,
                                               const std::vector<std::string>& headers,
                                               std::function<void()> ended);

  /// \param request  its id is replaced
  /// \param decoupled  any number of answers may come
  void send(inference::ModelInferRequest request, bool decoupled, const SendOptions& options,
            Sender::Done done);
  void cancel() { context_.TryCancel(); }

 private:
  /// One request that is not answered to its end.
  struct Waiting {
    bool decoupled = false;
    Outcome outcome;
    Sender::Done done;
    std::unique_ptr<grpc::Alarm> alarm;
  };
  class Reactor;
  friend class Reactor;

  ReplayedStream() = default;
  void write_next();  ///< under the lock
  void on_answer(const inference::ModelStreamInferResponse& answer);
  void on_written();
  void on_late(const std::string& id);
  void on_done(const grpc::Status& status);
  /// Takes it out of those that wait and tells of it, without the lock.
  void finish(std::unique_lock<std::mutex>& lock, const std::string& id, Status failure);

  grpc::ClientContext context_;
  Reactor* reactor_ = nullptr;  ///< of the library, until on_done()
  std::function<void()> ended_;
  std::mutex mutex_;                                    ///< guards what follows
  std::deque<inference::ModelInferRequest> unwritten_;  ///< the first one is being written
  std::map<std::string, Waiting> waiting_;              ///< by id, which grow
  uint64_t last_id_ = 0;
  bool writes_ended_ = false;  ///< nothing more is to be sent
  bool is_over_ = false;
};

/// Headers as gRPC sends them.
void add_headers(const std::vector<std::string>& headers, grpc::ClientContext* context);
Status status_of(const grpc::Status& status);

}  // namespace atl::replay
