#include "models/catalog/serving/long_work.h"

#include <algorithm>
#include <utility>

namespace atl::models {
namespace {

constexpr int64_t kLookEveryNs = kNsPerSecond;
constexpr int64_t kFirstLineNs = 10 * kNsPerSecond;
constexpr int64_t kLineEveryNs = 60 * kNsPerSecond;

/// At 10 s, then every minute. \returns whether a line is due
bool is_due(int64_t since_ns, int64_t now_ns, int64_t& next_ns) {
  if (next_ns == 0) next_ns = since_ns + kFirstLineNs;
  if (now_ns < next_ns) return false;
  next_ns = since_ns + ((now_ns - since_ns) / kLineEveryNs + 1) * kLineEveryNs;
  return true;
}

std::string duration(int64_t since_ns, int64_t now_ns) {
  const int64_t seconds = (now_ns - since_ns) / kNsPerSecond;
  return seconds == 0 ? "less than 1 s" : cat(seconds, " s");
}

std::string in_brackets(const std::string& step) { return step.empty() ? "" : cat(" (", step, ")"); }

}  // namespace

void LongWork::start(Visit visit) {
  visit_ = std::move(visit);
  Result<SerialExecutorPtr> thread = host_.executors().create("models-watch", {});
  if (!thread.ok())
    return host_.log().warning("loads and executions that take long are not reported: ",
                               thread.status().text());
  thread_ = std::move(thread).value();
  look_again();
}

void LongWork::look_again() {
  thread_->post_at(host_.clock().now_ns() + kLookEveryNs, make_task([this] {
                     look();
                     look_again();
                   }));
}

void LongWork::look() {
  now_ns_ = host_.clock().now_ns();
  ++looks_;
  {
    std::scoped_lock lock(mutex_);
    for (Task* task : tasks_) {
      if (!is_due(task->begun_ns_, now_ns_, task->next_ns_)) continue;
      lines_.push_back(cat(task->what_, ": ", task->kind_, " has taken ", duration(task->begun_ns_, now_ns_),
                           in_brackets(task->step_)));
    }
  }
  if (visit_) {
    visit_([this](const void* instance, uint64_t execution, const std::function<std::string()>& what) {
      see(instance, execution, what);
    });
  }
  std::erase_if(seen_, [this](const auto& seen) { return seen.second.look != looks_; });
  for (const std::string& line : std::exchange(lines_, {})) host_.log().warning(line);
}

void LongWork::see(const void* instance, uint64_t execution, const std::function<std::string()>& what) {
  if (execution == 0) return;
  Seen& seen = seen_[instance];
  if (seen.execution != execution) seen = {execution, now_ns_, 0, looks_};
  seen.look = looks_;
  if (!is_due(seen.since_ns, now_ns_, seen.next_ns)) return;
  lines_.push_back(cat(what(), ": execution has taken ", duration(seen.since_ns, now_ns_)));
}

std::vector<std::string> LongWork::running() const {
  std::vector<std::string> texts;
  std::scoped_lock lock(mutex_);
  const int64_t now_ns = host_.clock().now_ns();
  for (const Task* task : tasks_) {
    texts.push_back(cat(task->text_, " for ", duration(task->begun_ns_, now_ns), in_brackets(task->step_)));
  }
  return texts;
}

LongWork::Task::Task(LongWork* work, FaultNotes* notes, std::string_view kind, std::string what)
    : work_(work),
      kind_(kind),
      what_(std::move(what)),
      text_(cat(kind_, " ", what_)),
      note_(notes, text_.c_str()) {
  if (work_ == nullptr) return;
  begun_ns_ = work_->host_.clock().now_ns();
  std::scoped_lock lock(work_->mutex_);
  place_ = work_->tasks_.insert(work_->tasks_.end(), this);
}

LongWork::Task::~Task() {
  if (work_ == nullptr) return;
  std::scoped_lock lock(work_->mutex_);
  work_->tasks_.erase(place_);
}

void LongWork::Task::at(std::string step) {
  if (work_ == nullptr) return;
  std::scoped_lock lock(work_->mutex_);
  step_ = std::move(step);
}

}  // namespace atl::models
