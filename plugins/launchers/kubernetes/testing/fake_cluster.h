/// A cluster on a simulated clock, for tests of what uses its API.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/testing/deterministic_executor.h"
#include "launchers/kubernetes/api_refusal.h"
#include "launchers/kubernetes/cluster_calls.h"
#include "launchers/kubernetes/json_fields.h"
#include "launchers/kubernetes/pod_names.h"

namespace atl::launchers {

/// Calls take a time that the seed decides, on the way there and back, so they overtake each other; events of a watch keep their
/// order. Pods run as soon as they have their secret, unless a test has said otherwise.
class FakeCluster final : public ClusterCalls {
 public:
  explicit FakeCluster(test::DeterministicExecutors& executors)
      : executors_(executors), network_(std::move(executors.create("network", {})).value()) {}
  FakeCluster(const FakeCluster&) = delete;
  FakeCluster& operator=(const FakeCluster&) = delete;
  virtual ~FakeCluster() = default;

  /// Of whoever calls. What the one before has asked for is not answered any more.
  void serve(SerialExecutor* executor) {
    ++client_;
    executor_ = executor;
    watch_.reset();
  }

  // --- what a test does ---
  bool is_away = false;          ///< nobody answers; what has come is done
  bool is_full = false;          ///< no node has room for another pod
  bool starts_pods = true;       ///< pods run by themselves
  bool ends_pods = true;         ///< pods that are deleted end by themselves
  uint32_t lost_percent = 0;     ///< of answers
  uint32_t refused_percent = 0;  ///< of calls and watches: by what passes
  size_t page_size = 500;        ///< of lists
  int64_t longest_way_ns = kNsPerMs;
  std::optional<HttpAnswer> refusal;      ///< of the next call that makes something
  std::map<std::string, Json> pods = {};  ///< by name
  std::map<std::string, Json> secrets = {};
  std::vector<std::string> calls = {};  ///< "METHOD PATH"
  std::string log = {};                 ///< of each server

  Json& pod_of(const std::string& id) { return pods.at(name_of(id)); }
  bool has_pod(const std::string& id) const { return pods.contains(name_of(id)); }
  static std::string name_of(const std::string& id) { return pod_name("fraud", id); }

  void change(const std::string& name, const Json& status) {
    const auto pod = pods.find(name);
    if (pod == pods.end()) return;
    pod->second["status"] = status;
    record("MODIFIED", pod->second);
  }
  void run(const std::string& name) {
    change(name, {{"phase", "Running"},
                  {"podIP", cat("10.0.0.", ++addresses_)},
                  {"containerStatuses",
                   Json::array({{{"name", "server"}, {"state", {{"running", Json::object()}}}}})}});
  }
  void wait(const std::string& name, const char* reason, const char* message) {
    change(name, {{"phase", "Pending"},
                  {"containerStatuses",
                   Json::array({{{"name", "server"},
                                 {"state", {{"waiting", {{"reason", reason}, {"message", message}}}}}}})}});
  }
  void fail(const std::string& name, int exit_code, const char* reason = "Error") {
    change(name,
           {{"phase", "Failed"},
            {"containerStatuses",
             Json::array({{{"name", "server"},
                           {"state", {{"terminated", {{"exitCode", exit_code}, {"reason", reason}}}}}}})}});
  }
  void drop(const std::string& name) {
    const auto pod = pods.find(name);
    if (pod == pods.end()) return;
    const Json gone = pod->second;
    pods.erase(pod);
    secrets.erase(name);
    record("DELETED", gone);
  }
  /// Nobody can watch from an earlier version, or go on with a list, any more.
  void forget_events() {
    oldest_ = ++version_;
    events_.clear();
    snapshots_.clear();
    deliver();
  }
  /// Tells whoever watches the version, and nothing else.
  void bookmark() {
    ++version_;
    events_.emplace_back(
        version_, cat(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")", version_, "\"}}}"));
    deliver();
  }
  void break_watch() {
    if (watch_) end_of_watch(unavailable("the connection broke"));
  }

  // --- ClusterCalls ---
  void call(ApiCall call, Done done) override {
    calls.push_back(cat(call.method, " ", call.path));
    later([this, client = client_, call = std::move(call), done = std::move(done)]() mutable {
      const bool is_lost = is_away || (lost_percent != 0 && executors_.random().below(200) < lost_percent);
      Result<HttpAnswer> answer = is_lost         ? Result<HttpAnswer>(unavailable("nobody is there"))
                                  : refuses_now() ? refuse_for_now()
                                                  : serve_call(call);
      // Also on the way back: it is done then, and nobody knows.
      if (lost_percent != 0 && executors_.random().below(200) < lost_percent) answer = unavailable("lost");
      later([this, client, done = std::move(done), answer = std::move(answer)]() mutable {
        to_client(client, [done = std::move(done), answer = std::move(answer)]() mutable {
          done(std::move(answer));
        });
      });
    });
  }
  void watch(std::string path, OnEvent on_event, Done done) override {
    calls.push_back(cat("WATCH ", path));
    const std::string_view rest = std::string_view(path).substr(path.find("resourceVersion=") + 16);
    watch_ = Watch{++watches_, static_cast<uint64_t>(std::atoll(std::string(rest).c_str())),
                   std::move(on_event), std::move(done)};
    if (is_away) return end_of_watch(unavailable("nobody is there"));
    if (refuses_now()) return end_of_watch(refuse_for_now());
    // As the cluster likes it: at once, or by an event.
    if (watch_->seen < oldest_ && oldest_ % 2 == 0) return end_of_watch(refuse(410, "too old"));
    deliver();
  }
  void end_watch() override { watch_.reset(); }

 private:
  struct Watch {
    uint64_t number;
    uint64_t seen;
    OnEvent on_event;
    Done done;
  };

  struct Snapshot {
    std::string version;
    Json items;
  };

  template <class Work>
  void later(Work work) {
    const int64_t way_ns =
        1 + static_cast<int64_t>(executors_.random().below(static_cast<uint64_t>(longest_way_ns)));
    network_->post_at(executors_.clock().now_ns() + way_ns, make_task(std::move(work)));
  }
  /// Unless that client is gone.
  template <class Work>
  void to_client(uint64_t client, Work work) {
    if (client != client_ || executor_ == nullptr) return;
    executor_->post(make_task([this, client, work = std::move(work)]() mutable {
      if (client == client_) work();
    }));
  }
  void record(const char* type, Json pod) {
    pod["metadata"]["resourceVersion"] = cat(++version_);
    if (const auto own = pods.find(text_at(pod, {"metadata", "name"})); own != pods.end())
      own->second["metadata"]["resourceVersion"] = cat(version_);
    events_.emplace_back(version_, json_text({{"type", type}, {"object", std::move(pod)}}));
    deliver();
  }
  /// What the watch has not seen, in order, after a while.
  void deliver() {
    if (!watch_) return;
    later([this, number = watch_->number] {
      if (!watch_ || watch_->number != number) return;
      // Nothing is heard any more, which is noticed in the end.
      if (is_away) return end_of_watch(make_status(Code::kDeadlineExceeded, "it is silent"));
      if (watch_->seen < oldest_)
        return report(read_watch_line(R"({"type":"ERROR","object":{"code":410,"message":"too old"}})"));
      for (const auto& [version, line] : events_) {
        if (version <= watch_->seen) continue;
        watch_->seen = version;
        report(read_watch_line(line));
      }
    });
  }
  void report(WatchEvent event) {
    to_client(client_, [this, number = watch_->number, event = std::move(event)]() mutable {
      if (!watch_ || watch_->number != number) return;
      const OnEvent on_event = watch_->on_event;  // which may end the watch
      on_event(std::move(event));
    });
  }
  void end_of_watch(Result<HttpAnswer> end) {
    later([this, client = client_, number = watch_->number, end = std::move(end)]() mutable {
      to_client(client, [this, number, end = std::move(end)]() mutable {
        if (!watch_ || watch_->number != number) return;
        const Done done = std::exchange(watch_, std::nullopt)->done;
        done(std::move(end));
      });
    });
  }

  static HttpAnswer answer(int status, const Json& body) { return {status, json_text(body), {""}}; }
  static HttpAnswer refuse(int status, const std::string& message) {
    return answer(status, {{"kind", "Status"}, {"code", status}, {"message", message}});
  }

  bool refuses_now() { return refused_percent != 0 && executors_.random().below(100) < refused_percent; }
  HttpAnswer refuse_for_now() {
    constexpr int kCodes[] = {401, 429, 500, 503};
    const int code = kCodes[executors_.random().below(std::size(kCodes))];
    HttpAnswer answer = refuse(code, "not now");
    if (code == 429) answer.headers = {"3"};
    return answer;
  }

  HttpAnswer serve_call(const ApiCall& call) {
    const std::string path = call.path.substr(0, call.path.find('?'));
    if (call.method == "POST") return make(path, parse_json(call.body));
    if (path.ends_with("/pods")) return list(call.path);
    if (path.ends_with("/log")) return {200, log, {""}};
    const std::string name = path.substr(path.rfind('/') + 1);
    const auto pod = pods.find(name);
    if (pod == pods.end()) return refuse(404, "not found");
    if (call.method == "GET") return answer(200, pod->second);
    const std::string uid = text_at(parse_json(call.body), {"preconditions", "uid"});
    if (!uid.empty() && uid != text_at(pod->second, {"metadata", "uid"})) return refuse(409, "another uid");
    const Json before = pod->second;
    remove(name);
    return answer(200, before);
  }
  HttpAnswer make(const std::string& path, Json object) {
    if (refusal) return *std::exchange(refusal, std::nullopt);
    const std::string name = text_at(object, {"metadata", "name"});
    if (path.ends_with("/secrets")) {
      if (!secrets.emplace(name, object).second) return refuse(409, "already exists");
      start_later(name);
      return answer(201, object);
    }
    if (pods.contains(name)) return refuse(409, "already exists");
    object["metadata"]["uid"] = cat("uid-", version_);
    object["status"] = {{"phase", "Pending"}};
    if (is_full)
      object["status"]["conditions"] = Json::array({{{"type", "PodScheduled"},
                                                     {"status", "False"},
                                                     {"reason", "Unschedulable"},
                                                     {"message", "0/3 nodes are available"}}});
    pods[name] = object;
    record("ADDED", pods[name]);
    return answer(201, pods[name]);
  }
  void start_later(const std::string& name) {
    if (!starts_pods || is_full) return;
    later([this, name] {
      const auto pod = pods.find(name);
      if (pod != pods.end() && text_at(pod->second, {"status", "phase"}) == "Pending") run(name);
    });
  }
  void remove(const std::string& name) {
    Json& pod = pods.at(name);
    const bool is_over = text_at(pod, {"status", "phase"}) == "Failed";
    if (pod["metadata"].contains("deletionTimestamp") && !is_over) return;
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    record("MODIFIED", pod);
    if (ends_pods) later([this, name] { drop(name); });
  }
  /// A page of the pods as they were when the first page was asked for.
  HttpAnswer list(const std::string& path) {
    Snapshot rest{cat(version_), Json::array()};
    if (const size_t at = path.find("&continue="); at == std::string::npos) {
      for (const auto& [name, pod] : pods) rest.items.push_back(pod);
    } else {
      const auto kept = snapshots_.find(path.substr(at + 10));
      if (kept == snapshots_.end()) return refuse(410, "the list is too old");
      rest = kept->second;
    }
    Json page = Json::array(), metadata = {{"resourceVersion", rest.version}};
    while (!rest.items.empty() && page.size() < page_size) {
      page.push_back(rest.items.front());
      rest.items.erase(rest.items.begin());
    }
    if (!rest.items.empty()) {
      const std::string name = cat(++lists_);
      metadata["continue"] = name;
      snapshots_[name] = std::move(rest);
    }
    return answer(200, {{"items", std::move(page)}, {"metadata", std::move(metadata)}});
  }

  test::DeterministicExecutors& executors_;
  SerialExecutorPtr network_;
  SerialExecutor* executor_ = nullptr;
  uint64_t client_ = 0, watches_ = 0, version_ = 100, oldest_ = 0;
  int addresses_ = 0, lists_ = 0;
  std::map<std::string, Snapshot> snapshots_;  ///< by what asks for the rest
  std::deque<std::pair<uint64_t, std::string>> events_;
  std::optional<Watch> watch_;
};

}  // namespace atl::launchers
