#include "launchers/kubernetes/pod_view.h"

#include <algorithm>
#include <string_view>

#include "launchers/kubernetes/pod_names.h"

namespace atl::launchers {
namespace {

constexpr std::string_view kNever[] = {"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"};
constexpr std::string_view kStartFailures[] = {"StartError", "ContainerCannotRun"};

bool is_one_of(std::string_view text, auto& list) { return std::ranges::find(list, text) != std::end(list); }

/// "REASON: MESSAGE", as far as there is any.
std::string explained(const std::string& reason, const std::string& message) {
  return cat(reason, reason.empty() || message.empty() ? "" : ": ", message);
}

const Json& condition_of(const Json& pod, std::string_view type) {
  static const Json kNone;
  for (const Json& condition : field_at(pod, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) == type) return condition;
  }
  return kNone;
}

const Json& server_state(const Json& pod) {
  return field_at(item_named(field_at(pod, {"status", "containerStatuses"}), kContainerName), {"state"});
}

/// Why the pod as a whole has ended: evicted, refused by its node, preempted.
std::string pod_failure(const Json& pod) {
  const std::string reason = text_at(pod, {"status", "reason"});
  std::string text = explained(reason, text_at(pod, {"status", "message"}));
  const Json& disruption = condition_of(pod, "DisruptionTarget");
  if (text_at(disruption, {"status"}) != "True") return text;
  return cat(text, text.empty() ? "" : "; ",
             explained(text_at(disruption, {"reason"}), text_at(disruption, {"message"})));
}

Status ended_reason(const Json& pod) {
  const std::string whole = pod_failure(pod), reason = text_at(pod, {"status", "reason"});
  if (reason.starts_with("OutOf") || reason == "UnexpectedAdmissionError")
    return make_status(Code::kResourceExhausted, "its node has refused it: ", whole);
  const Json& terminated = field_at(server_state(pod), {"terminated"});
  const std::string how = text_at(terminated, {"reason"}), message = text_at(terminated, {"message"});
  if (is_one_of(how, kStartFailures))
    return invalid_argument("its command cannot be executed: ", explained(how, message));
  if (!whole.empty()) return unavailable("the cluster has ended it: ", whole);
  if (how == "OOMKilled") return unavailable("it needed more memory than it may have (OOMKilled)");
  if (terminated.is_null()) return unavailable("it has ended in phase ", text_at(pod, {"status", "phase"}));
  return unavailable("its server ended with exit code ", number_at(terminated, {"exitCode"}),
                     how.empty() || how == "Error" || how == "Completed" ? "" : " ",
                     how == "Error" || how == "Completed" ? "" : how, message.empty() ? "" : ": ", message);
}

/// What containers wait for; success: nothing that has to be told.
Status waiting_reason(const Json& pod, const std::string& secret) {
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& container : field_at(pod, {"status", list})) {
      const Json& waiting = field_at(container, {"state", "waiting"});
      const std::string reason = text_at(waiting, {"reason"}), message = text_at(waiting, {"message"});
      if (reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing") continue;
      const std::string text =
          cat("container '", text_at(container, {"name"}), "' does not start: ", explained(reason, message));
      // Its own secret is made when it is there, so it may wait for that.
      const bool waits_for_secret = message.find(cat("\"", secret, "\" not found")) != std::string::npos;
      return is_one_of(reason, kNever) && !waits_for_secret ? invalid_argument(text) : unavailable(text);
    }
  }
  return {};
}

}  // namespace

PodView PodView::read(const Json& pod) {
  PodView view;
  const Json& metadata = field_at(pod, {"metadata"});
  view.name = text_at(metadata, {"name"});
  view.uid = text_at(metadata, {"uid"});
  view.version = text_at(metadata, {"resourceVersion"});
  view.server_id = text_at(metadata, {"annotations", kServerIdAnnotation.data()});
  view.keeper = text_at(metadata, {"labels", kKeeperLabel.data()});
  view.is_ending = !field_at(metadata, {"deletionTimestamp"}).is_null();
  view.node = text_at(pod, {"spec", "nodeName"});
  view.host = text_at(pod, {"status", "podIP"});
  const std::string phase = text_at(pod, {"status", "phase"});
  const Json& state = server_state(pod);
  const bool has_ended = !field_at(state, {"terminated"}).is_null();
  view.has_log = has_ended || !field_at(state, {"running"}).is_null();
  if (phase == "Succeeded" || phase == "Failed" || has_ended) {
    view.stage = PodStage::kEnded;
    view.reason = ended_reason(pod);
    return view;
  }
  if (!field_at(state, {"running"}).is_null() && !view.host.empty()) {
    view.stage = PodStage::kRunning;
    return view;
  }
  const Json& placed = condition_of(pod, "PodScheduled");
  if (text_at(placed, {"status"}) == "False") {
    view.stage = PodStage::kUnplaced;
    view.reason = make_status(Code::kResourceExhausted,
                              explained(text_at(placed, {"reason"}), text_at(placed, {"message"})));
    return view;
  }
  view.reason = waiting_reason(pod, view.name);
  return view;
}

}  // namespace atl::launchers
