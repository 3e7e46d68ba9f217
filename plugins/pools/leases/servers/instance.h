/// One instance of a pool: a server from its launch to its end.
#pragma once

#include <cstdint>
#include <string>

#include "pools/leases/book/pool_context.h"

namespace atl::pools {

enum class InstanceState : uint8_t {
  kStarting,
  kReady,
  kDraining,  ///< it ends because nobody needs it
  kFailed     ///< it ends, or has ended, by itself
};
/// "STARTING"
constexpr std::string_view name_of(InstanceState state) noexcept {
  constexpr std::string_view kNames[] = {"STARTING", "READY", "DRAINING", "FAILED"};
  return kNames[static_cast<size_t>(state)];
}

class PoolInstance;

class InstanceOwner {
 public:
  virtual void instance_ready(PoolInstance& instance) = 0;
  /// From time to time, of a ready one. \param asked_ns  steady clock; what was done since may not be in it
  virtual void instance_seen(PoolInstance& instance, const ServedModels& models, int64_t asked_ns) = 0;
  /// It hosts nothing any more, though its server may still be there. Once; not of one that was stopped.
  virtual void instance_failed(PoolInstance& instance, const Status& reason) = 0;
  /// There is no server. The last call; the instance may be destroyed in it.
  virtual void instance_ended(PoolInstance& instance) = 0;

 protected:
  ~InstanceOwner() = default;
};

/// Waits until its server answers, looks from time to time whether it still does, and sees it end. It has no lock: it is used on the
/// executor of the PoolContext alone, and its owner is called there.
class PoolInstance {
 public:
  PoolInstance(const PoolContext& with, InstanceOwner& owner, ServerSpec server)
      : with_(with), owner_(owner), server_(std::move(server)) {}
  PoolInstance(const PoolInstance&) = delete;
  PoolInstance& operator=(const PoolInstance&) = delete;

  /// Of its server.
  const std::string& id() const noexcept { return server_.id; }
  /// The name of its pool.
  const std::string& pool() const noexcept { return server_.pool; }
  const std::string& key() const noexcept { return server_.key; }
  uint32_t number() const noexcept { return server_.instance; }
  InstanceState state() const noexcept { return state_; }
  bool is_ready() const noexcept { return state_ == InstanceState::kReady; }
  /// Once it runs.
  const ServerAddress& address() const noexcept { return address_; }
  ModelServer server() const { return {server_.repository, address_, server_.key}; }
  /// Of a failed one.
  const Status& failure() const noexcept { return failure_; }

  /// \param listener  outlives the server, or forgets it with Launcher::forget()
  void launch(LauncherListener& listener);
  /// A server of this id was launched before. \param listener  likewise
  void adopt(LauncherListener& listener);
  /// Ends it; it hosts nothing.
  void stop();

  // --- what the launcher says of it ---
  void server_running(const ServerAddress& address);
  void server_ended(Status reason);

 private:
  void begin();
  void look();
  void looked(Status status);
  void look_at_models();
  void look_whether_closed();
  void count(Status status);
  void look_after(int64_t delay_ns);
  void fail(Status reason);

  const PoolContext& with_;
  InstanceOwner& owner_;
  const ServerSpec server_;
  InstanceState state_ = InstanceState::kStarting;
  bool is_adopted_ = false;
  ServerAddress address_;
  int64_t give_up_ns_ = 0;  ///< steady clock: until then it is ready, or has failed
  uint32_t failures_ = 0;   ///< looks in a row
  Status failure_;          ///< of the last look; of a failed instance the reason
  Alive alive_;
};

}  // namespace atl::pools
