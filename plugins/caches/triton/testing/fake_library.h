/// A library that keeps answers as the test says.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "caches/triton/answer_library.h"

namespace atl::caches {

/// What a test and the library that it has given away share.
struct FakeAnswers {
  std::mutex mutex;  // of what follows
  std::condition_variable changed;
  std::map<std::string, std::string> kept;
  Status look_up_failure, insert_failure;  ///< not ok: every call fails so
  bool is_held = false;                    ///< calls do not return
  int inside = 0;                          ///< calls that have begun and not returned

  void set(const auto& change) {
    {
      std::lock_guard lock(mutex);
      change();
    }
    changed.notify_all();
  }
  void wait_until(const auto& condition) {
    std::unique_lock lock(mutex);
    changed.wait(lock, condition);
  }
};

class FakeLibrary final : public AnswerLibrary {
 public:
  explicit FakeLibrary(FakeAnswers& answers) : answers_(answers) {}

  Result<std::string> look_up(const std::string& key) override {
    Call call(answers_);
    if (!answers_.look_up_failure.ok()) return answers_.look_up_failure.clone();
    const auto found = answers_.kept.find(key);
    if (found == answers_.kept.end()) return not_found("key [", key, "] does not exist");
    return found->second;
  }
  Status insert(const std::string& key, std::string_view bytes) override {
    Call call(answers_);
    if (!answers_.insert_failure.ok()) return answers_.insert_failure.clone();
    if (answers_.kept.try_emplace(key, bytes).second) return {};
    return make_status(Code::kAlreadyExists, "key '", key, "' already exists");
  }

 private:
  /// Has the lock.
  struct Call {
    explicit Call(FakeAnswers& all) : answers(all), lock(all.mutex) {
      ++answers.inside;
      answers.changed.notify_all();
      answers.changed.wait(lock, [&] { return !answers.is_held; });
    }
    ~Call() {
      --answers.inside;
      answers.changed.notify_all();
    }
    FakeAnswers& answers;
    std::unique_lock<std::mutex> lock;
  };

  FakeAnswers& answers_;
};

}  // namespace atl::caches
