#include "launchers/kubernetes/pod_server.h"

#include <algorithm>
#include <utility>

#include "atoll/core/utf8.h"
#include "atoll/lib/blanks.h"
#include "launchers/common/server_environment.h"
#include "launchers/kubernetes/api_refusal.h"
#include "launchers/kubernetes/pod_names.h"
#include "launchers/kubernetes/pod_spec.h"

namespace atl::launchers {
namespace {

/// A pod that the cluster has taken and the watch does not show is looked at by itself then.
constexpr int64_t kLookAfterNs = 10 * kNsPerSecond;
constexpr size_t kLogLinesShown = 3, kLogBytesShown = 500, kLogBytesMax = size_t{256} << 10;

const InstanceCommand* runtime_of(const ServerSpec& server, const KubernetesSettings& settings) {
  const auto found =
      settings.runtimes.find(server.runtime.empty() ? settings.default_runtime : server.runtime);
  return found == settings.runtimes.end() ? nullptr : &found->second;
}

}  // namespace

Result<std::vector<std::string>> command_words(const ServerSpec& server, const KubernetesSettings& settings) {
  const InstanceCommand* const runtime = runtime_of(server, settings);
  if (runtime == nullptr)
    return invalid_argument("runtime '", server.runtime, "' is none of the launcher's option 'runtimes'");
  return runtime->fill({{"repository", without_references(server.repository)},
                        {"host", std::string(kHostReference)},
                        {"http_port", cat(settings.pods.http_port)},
                        {"grpc_port", cat(settings.pods.grpc_port)},
                        {"id", server.id},
                        {"pool", without_references(server.pool)},
                        {"instance", cat(server.instance)},
                        {"key", std::string(kKeyReference)}});
}

std::vector<std::string> secret_variables(const ServerSpec& server, const KubernetesSettings& settings) {
  const InstanceCommand* const runtime = runtime_of(server, settings);
  if (runtime == nullptr) return {};
  std::vector<std::string> variables = server_environment(server, *runtime, settings.shared_memory);
  if (runtime->has_place("key")) variables.push_back(cat(kKeyVariableName, "=", server.key));
  return variables;
}

std::string last_lines(std::string_view log) {
  log = without_blanks(log);
  size_t begin = log.size();
  for (size_t lines = 0; begin != 0 && begin != std::string_view::npos && lines < kLogLinesShown; ++lines)
    begin = log.rfind('\n', begin - 1);
  if (begin != std::string_view::npos && begin < log.size()) log.remove_prefix(begin);
  if (log.size() > kLogBytesShown) log.remove_prefix(log.size() - kLogBytesShown);
  std::string text = replace_invalid_utf8(without_blanks(log));
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at))
    text.replace(at, 1, " | ");
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return text;
}

PodServer::PodServer(PodServerContext& with, ServerSpec spec, bool is_adopted)
    : with_(with),
      spec_(std::move(spec)),
      pod_(pod_name(spec_.pool, spec_.id)),
      pod_path_(cat(with.namespace_path, "/pods/", pod_)),
      step_(is_adopted ? Step::kSought : Step::kWanted),
      is_adopted_(is_adopted),
      since_ns_(with.clock.now_ns()) {
  if (is_adopted) sure_list_ = with.watch.want_list();
}

// --- calls ---

void PodServer::call(ApiCall call, OnAnswer then) {
  is_busy_ = true;
  with_.calls.call(std::move(call), [weak = weak_from_this(), then](Result<HttpAnswer> answer) {
    const std::shared_ptr<PodServer> self = weak.lock();
    if (self == nullptr) return;
    self->is_busy_ = false;
    (self.get()->*then)(std::move(answer));
  });
}

bool PodServer::retries(const Result<HttpAnswer>& answer, Status* refusal) {
  const ApiRefusal read =
      answer.ok() ? read_refusal(answer.value()) : ApiRefusal{answer.status().clone(), true, 0};
  if (!read.passes) {
    failures_ = 0;
    *refusal = read.status.clone();
    return false;
  }
  with_.owner.cluster_answered(read.status);
  const int64_t now_ns = with_.clock.now_ns();
  next_ns_ = now_ns + retry_pause_ns(++failures_, read.retry_after_ns, static_cast<uint64_t>(now_ns));
  return true;
}

void PodServer::create() {
  Result<std::vector<std::string>> words = command_words(spec_, with_.settings);
  if (!words.ok()) return over(std::move(words).status(), {}, false);
  call({"POST", cat(with_.namespace_path, "/pods?fieldManager=", kManager, "&fieldValidation=Strict"),
        json_text(pod_object(spec_, words.value(), with_.settings.pods))},
       &PodServer::created);
}

void PodServer::created(Result<HttpAnswer> answer) {
  // An earlier try may have got there, of which the answer did not come back.
  if (answer.ok() && answer->status == kHttpConflict) return look();
  Status refusal;
  if (!answer.ok() || !is_success(answer.value())) {
    if (!retries(answer, &refusal)) over(std::move(refusal), {}, false);
    return;
  }
  with_.owner.cluster_answered({});
  const PodView pod = PodView::read(parse_json(answer->body));
  if (pod.uid.empty()) return look();
  take_up(pod);
}

/// Asks for the pod itself.
void PodServer::look() { call({.path = pod_path_}, &PodServer::was_looked_at); }

void PodServer::was_looked_at(Result<HttpAnswer> answer) {
  Status refusal;
  if (answer.ok() && answer->status == kHttpNotFound) {
    failures_ = 0;
    // It has gone between two calls: one that is wanted is made again.
    return step_ == Step::kWanted && !is_ending_ ? advance() : is_gone();
  }
  if (!answer.ok() || !is_success(answer.value())) {
    if (!retries(answer, &refusal)) over(std::move(refusal), {}, false);
    return;
  }
  const PodView pod = PodView::read(parse_json(answer->body));
  if (pod.server_id != spec_.id) return over(invalid_argument("another pod has this name"), {}, false);
  with_.owner.cluster_answered({});
  next_ns_ = with_.clock.now_ns() + kLookAfterNs;
  if (step_ == Step::kWanted) return take_up(pod);
  if (pod.uid != uid_ && !uid_.empty()) return is_gone();
  // What the watch has not told, or not yet, a list tells.
  if (step_ == Step::kThere && with_.watch.find(pod_) == nullptr) (void)with_.watch.want_list();
  advance();
}

void PodServer::take_up(const PodView& pod) {
  uid_ = pod.uid;
  step_ = Step::kBare;
  since_ns_ = with_.clock.now_ns();
  failures_ = 0;
  next_ns_ = 0;
  sure_list_ = with_.watch.next_number();
  advance();
}

void PodServer::give_secret() {
  call({"POST", cat(with_.namespace_path, "/secrets?fieldManager=", kManager, "&fieldValidation=Strict"),
        json_text(secret_object(spec_, secret_variables(spec_, with_.settings), uid_, with_.settings.pods))},
       &PodServer::was_given_secret);
}

void PodServer::was_given_secret(Result<HttpAnswer> answer) {
  Status refusal;
  const bool is_there = answer.ok() && (is_success(answer.value()) || answer->status == kHttpConflict);
  if (!is_there) {
    if (!retries(answer, &refusal)) give_up(std::move(refusal).note("its secret"));
    return;
  }
  failures_ = 0;
  if (step_ == Step::kBare) step_ = Step::kThere;
  next_ns_ = with_.clock.now_ns() + kLookAfterNs;
  advance();
}

void PodServer::remove() {
  call({"DELETE", pod_path_, json_text(delete_options(uid_))}, &PodServer::removed);
}

void PodServer::removed(Result<HttpAnswer> answer) {
  // Where there is another one of its name, it is gone itself.
  if (answer.ok() && (answer->status == kHttpNotFound || answer->status == kHttpConflict)) return is_gone();
  Status refusal;
  if (!answer.ok() || !is_success(answer.value())) {
    if (retries(answer, &refusal)) return;
    with_.owner.cluster_answered(std::move(refusal).note(cat("pod ", pod_, " cannot be deleted")));
    next_ns_ = with_.clock.now_ns() + kLookAfterNs;
    return;
  }
  with_.owner.cluster_answered({});
  step_ = Step::kDeleted;
  failures_ = 0;
  next_ns_ = with_.clock.now_ns() + kLookAfterNs;
  advance();
}

void PodServer::log_was_read(Result<HttpAnswer> answer) {
  const std::string log =
      answer.ok() && is_success(answer.value()) ? replace_invalid_utf8(answer->body) : std::string();
  const std::string lines = last_lines(log);
  Status reason =
      lines.empty() ? std::move(because_) : make_status(because_.code(), because_.message(), ": ", lines);
  over(std::move(reason), log, true);
}

// --- what is asked, and what the watch says ---

void PodServer::end() {
  if (std::exchange(is_ending_, true)) return;
  next_ns_ = 0;
  advance();
}

void PodServer::begin_anew() {
  is_running_ = false;
  next_ns_ = 0;
  advance();
}

void PodServer::pod_gone() {
  if (step_ == Step::kWanted || step_ == Step::kSought || step_ == Step::kReading) return;
  is_gone();
}

void PodServer::pods_listed(uint64_t number) {
  if (number < sure_list_ || with_.watch.find(pod_) != nullptr) return;
  if (step_ == Step::kSought)
    return over(is_ending_ ? Status() : not_found("the cluster has no such pod"), {}, false);
  pod_gone();
}

void PodServer::advance() {
  if (is_busy_ || step_ == Step::kReading) return;
  const PodView* const pod = with_.watch.find(pod_);
  const bool is_own = pod != nullptr && pod->server_id == spec_.id && (uid_.empty() || uid_ == pod->uid);
  if (is_own && step_ == Step::kSought) return take_up(*pod);
  if (is_own && step_ != Step::kWanted) return look_at(*pod);
  if (with_.clock.now_ns() < next_ns_) return;
  switch (step_) {
    case Step::kWanted:
      return is_ending_ ? remove() : create();
    case Step::kBare:
      return is_ending_ ? remove() : give_secret();
    case Step::kThere:
      return is_ending_ ? remove() : look();
    case Step::kDeleted:
      return look();
    case Step::kSought:
    case Step::kReading:
      return;
  }
}

void PodServer::look_at(const PodView& pod) {
  if (pod.stage == PodStage::kEnded) return has_ended(pod);
  if (pod.stage == PodStage::kRunning && !is_ending_) {
    is_adopted_ = false;
    if (!std::exchange(is_running_, true)) {
      failures_ = 0;
      const PodSettings& pods = with_.settings.pods;
      return with_.owner.server_runs(*this,
                                     {{pod.host, pods.http_port},
                                      pods.grpc_port == 0 ? HostPort{} : HostPort{pod.host, pods.grpc_port}});
    }
    return;
  }
  if (!is_ending_) wait_for(pod);
  if (is_busy_ || with_.clock.now_ns() < next_ns_) return;
  if (is_ending_ && step_ != Step::kDeleted) return remove();
  if (!is_ending_ && step_ == Step::kBare) give_secret();
}

/// It does not run yet.
void PodServer::wait_for(const PodView& pod) {
  if (pod.reason.code() == Code::kInvalidArgument) return give_up(pod.reason.clone());
  // Nobody knows what has become of it meanwhile, so that does not count.
  if (with_.owner.is_cluster_away()) since_ns_ = with_.clock.now_ns();
  const bool is_unplaced = pod.stage == PodStage::kUnplaced;
  const int64_t waits_ns = with_.clock.now_ns() - since_ns_;
  const int64_t limit_ns = is_unplaced
                               ? with_.settings.queue_timeout_ns
                               : with_.settings.queue_timeout_ns + with_.settings.pods.start_timeout_ns;
  if (limit_ns == 0 || waits_ns < limit_ns) return;
  const std::string_view why =
      pod.reason.ok() ? std::string_view("its containers are not made") : pod.reason.message();
  give_up(make_status(is_unplaced ? Code::kResourceExhausted : Code::kUnavailable, "it does not run after ",
                      waits_ns / kNsPerMs, " ms: ", why));
}

void PodServer::give_up(Status reason) {
  because_ = std::move(reason);
  is_ending_ = true;
  next_ns_ = 0;
  if (!is_busy_) remove();
}

void PodServer::has_ended(const PodView& pod) {
  uid_ = pod.uid;
  // An earlier process may have told of its end.
  if (!is_ending_ && is_adopted_)
    return over(not_found("its pod has ended: ", pod.reason.message()), {}, true);
  if (is_ending_) return over(std::move(because_), {}, step_ != Step::kDeleted);
  because_ = pod.reason.ok() ? unavailable("it has ended") : pod.reason.clone();
  if (!pod.has_log) return over(std::move(because_), {}, true);
  step_ = Step::kReading;
  call({.path = cat(pod_path_, "/log?container=", kContainerName, "&tailLines=200"),
        .answer_bytes_max = kLogBytesMax},
       &PodServer::log_was_read);
}

void PodServer::is_gone() {
  if (is_ending_) return over(std::move(because_), {}, false);
  if (is_adopted_) return over(not_found("its pod is gone"), {}, false);
  over(unavailable("its pod was deleted, which nobody here has asked for"), {}, false);
}

void PodServer::over(Status reason, const std::string& log, bool leftover) {
  if (!reason.ok()) reason = make_status(reason.code(), "pod ", pod_, ": ", reason.text());
  with_.owner.server_is_over(*this, std::move(reason), log, leftover ? uid_ : std::string());
}

}  // namespace atl::launchers
