/// One server as a pod.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/status.h"
#include "atoll/pools/launcher.h"
#include "launchers/kubernetes/cluster_calls.h"
#include "launchers/kubernetes/pod_watch.h"
#include "launchers/kubernetes/settings.h"

namespace atl::launchers {

class PodServer;

/// Whoever has the servers. On the executor; all functions are the last thing that a server does in one of its own.
class PodServerOwner {
 public:
  virtual void server_runs(const PodServer& server, const ServerAddress& address) = 0;
  /// It is to be forgotten. \param log  what it said at last; empty: not known
  /// \param leftover  uid of its pod, which is left and has to be deleted; empty: there is none
  virtual void server_is_over(const PodServer& server, Status reason, const std::string& log,
                              const std::string& leftover) = 0;
  virtual void cluster_answered(const Status& status) = 0;
  /// Whether the cluster answers, as far as is known.
  virtual bool is_cluster_away() const = 0;

 protected:
  ~PodServerOwner() = default;
};

/// What all servers of a launcher share; outlives them.
struct PodServerContext {
  const KubernetesSettings& settings;
  const std::string& namespace_path;  ///< "/api/v1/namespaces/NAME"
  ClusterCalls& calls;
  PodWatch& watch;
  Clock& clock;
  PodServerOwner& owner;
};

/// One on a watch that has been told to list. There is one call at a time about a server; what it waits for otherwise comes from the watch, or with time. On one executor.
class PodServer : public std::enable_shared_from_this<PodServer> {
 public:
  PodServer(PodServerContext& with, ServerSpec spec, bool is_adopted);
  PodServer(const PodServer&) = delete;
  PodServer& operator=(const PodServer&) = delete;

  const ServerSpec& spec() const noexcept { return spec_; }
  const std::string& pod() const noexcept { return pod_; }

  /// Does whatever is next, if its time has come. Called when there may be something, and each second or so.
  void advance();
  /// Somebody else listens to it, who has not heard yet that it runs.
  void begin_anew();
  void end();
  /// Its pod was there, and is not any more.
  void pod_gone();
  /// Everything that was there when the list of that number began is known.
  void pods_listed(uint64_t number);

 private:
  enum class Step {
    kWanted,   ///< its pod has to be made; the cluster has not said that it has it
    kSought,   ///< whether there is a pod is to be found out
    kBare,     ///< the pod is there, and may lack its secret
    kThere,    ///< all of it
    kDeleted,  ///< the cluster has heard that the pod shall go
    kReading,  ///< it has ended, and what it said is asked for
  };
  using OnAnswer = void (PodServer::*)(Result<HttpAnswer>);

  void call(ApiCall call, OnAnswer then);
  void create();
  void created(Result<HttpAnswer> answer);
  void look();
  void was_looked_at(Result<HttpAnswer> answer);
  void give_secret();
  void was_given_secret(Result<HttpAnswer> answer);
  void remove();
  void removed(Result<HttpAnswer> answer);
  void log_was_read(Result<HttpAnswer> answer);
  /// Of an answer that is not what was hoped for: is it tried again, later? Otherwise *refusal says why not.
  bool retries(const Result<HttpAnswer>& answer, Status* refusal);

  void take_up(const PodView& pod);
  void look_at(const PodView& pod);
  void wait_for(const PodView& pod);
  void has_ended(const PodView& pod);
  void give_up(Status reason);
  /// There is no pod.
  void is_gone();
  /// \param reason  gets the pod's name
  void over(Status reason, const std::string& log, bool leftover);

  PodServerContext& with_;
  const ServerSpec spec_;
  const std::string pod_, pod_path_;
  std::string uid_;  ///< of the pod; empty: not known
  Step step_;
  uint64_t sure_list_ = 0;   ///< a list of that number knows whether there is a pod
  bool is_adopted_;          ///< and never seen to run
  bool is_busy_ = false;     ///< a call about it runs
  bool is_running_ = false;  ///< and its listener knows
  bool is_ending_ = false;
  Status because_;         ///< it ends, where nobody has asked it to; or it has ended
  int64_t since_ns_;       ///< of its wait for a node, and then for its start
  int64_t next_ns_ = 0;    ///< nothing is tried before
  uint32_t failures_ = 0;  ///< of calls, in a row
};

/// Its command line. Errors: INVALID_ARGUMENT there is no such runtime.
Result<std::vector<std::string>> command_words(const ServerSpec& server, const KubernetesSettings& settings);
/// What a server is told that others may not read, each "NAME=value".
std::vector<std::string> secret_variables(const ServerSpec& server, const KubernetesSettings& settings);
/// The end of what a server has printed, on one line for people: at most 3 lines and 500 bytes.
std::string last_lines(std::string_view log);

}  // namespace atl::launchers
