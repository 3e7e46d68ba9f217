/// Access control for tests of frontends: calls of some categories need a header, and calls may be made to
/// wait until the test lets them go on.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/frontend/access.h"

namespace atl::test {

/// [any]
class FakeAccess final : public Access {
 public:
  virtual ~FakeAccess() = default;

  /// Calls of this category are refused unless they present exactly this value under the header, which names
  /// the caller then. \param category  a fixed one or a plugin's own \param header  in lower case
  void require(std::string_view category, std::string header, std::string value, Status refusal) {
    std::lock_guard lock(mutex_);
    rules_[std::string(category)] = {std::move(header), std::move(value), std::move(refusal)};
  }
  void require(ApiCategory category, std::string header, std::string value, Status refusal) {
    require(api_category_name(category), std::move(header), std::move(value), std::move(refusal));
  }
  /// Calls of this category wait for answer().
  void hold(ApiCategory category) {
    std::lock_guard lock(mutex_);
    held_ = category;
  }

  Result<AccessOutcome> ask(const AccessQuestion& question, AccessWaiter& waiter,
                            std::string_view* caller) noexcept override {
    std::lock_guard lock(mutex_);
    ++asked_[std::string(question.category_name)];
    last_peer_ = question.head.peer();
    last_protocol_ = question.protocol;
    if (held_ == question.category) {
      waiting_.push_back(&waiter);
      return AccessOutcome::kWaits;
    }
    auto rule = rules_.find(question.category_name);
    if (rule == rules_.end()) return AccessOutcome::kAllowed;
    std::array<std::string_view, 2> values;
    const size_t count = question.head.find(rule->second.header, values);
    if (count != 1 || values[0] != rule->second.value) {
      return make_status(rule->second.refusal.code(), rule->second.refusal.message());
    }
    *caller = rule->second.header;
    return AccessOutcome::kAllowed;
  }

  /// Makes it a source of identities: whoever presents the token as "Bearer <token>" is this one. Callers of before hold no
  /// more. \param identity  null: nobody; outlives this
  void know(std::string token, const Identity* identity) {
    std::lock_guard lock(mutex_);
    tokens_[std::move(token)] = identity;
  }
  uint32_t roles() const noexcept override {
    std::lock_guard lock(mutex_);
    return tokens_.empty() ? kJudgesCalls : kKnowsCallers;
  }
  Result<IdentityOutcome> identify(const AccessQuestion& question,
                                   std::shared_ptr<const Identity>* identity) noexcept override {
    std::lock_guard lock(mutex_);
    if (question.is_probe) return IdentityOutcome::kOpen;
    std::string_view value;
    if (question.head.find("authorization", {&value, 1}) != 1 || !value.starts_with("Bearer "))
      return IdentityOutcome::kNotMine;
    const auto found = tokens_.find(value.substr(7));
    if (found == tokens_.end()) return IdentityOutcome::kNotMine;
    if (found->second == nullptr) return make_status(Code::kUnauthenticated, "the token is over");
    // The test has it.
    *identity = std::shared_ptr<const Identity>(std::shared_ptr<const Identity>(), found->second);
    return IdentityOutcome::kKnown;
  }

  /// Ends all waits. \param caller  of calls that are allowed
  void answer(Code code = Code::kOk, const std::string& text = {}, std::string_view caller = {}) {
    std::vector<AccessWaiter*> ended;
    {
      std::lock_guard lock(mutex_);
      ended.swap(waiting_);
    }
    for (AccessWaiter* waiter : ended) {
      waiter->on_access(code == Code::kOk ? Status() : Status(code, text), caller);
    }
  }
  size_t waiting() const {
    std::lock_guard lock(mutex_);
    return waiting_.size();
  }
  size_t asked(ApiCategory category) const {
    std::lock_guard lock(mutex_);
    auto found = asked_.find(api_category_name(category));
    return found == asked_.end() ? 0 : found->second;
  }
  std::string last_peer() const {
    std::lock_guard lock(mutex_);
    return last_peer_;
  }
  CallProtocol last_protocol() const {
    std::lock_guard lock(mutex_);
    return last_protocol_;
  }

 private:
  struct Rule {
    std::string header;
    std::string value;
    Status refusal;
  };
  static constexpr auto kNone = static_cast<ApiCategory>(UINT32_MAX);

  mutable std::mutex mutex_;
  std::map<std::string, Rule, std::less<>> rules_;
  std::map<std::string, size_t, std::less<>> asked_;
  std::map<std::string, const Identity*, std::less<>> tokens_;
  std::vector<AccessWaiter*> waiting_;
  ApiCategory held_ = kNone;
  std::string last_peer_;
  CallProtocol last_protocol_ = CallProtocol::kGrpc;
};

}  // namespace atl::test
