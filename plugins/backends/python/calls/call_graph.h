/// Which instances wait for which models, so that a circle of them is seen before it is closed.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace atl::python {

/// Of all Python models. An instance that executes and waits for a model whose every instance waits in turn, in the end for the first one,
/// would wait for ever. [any]
class CallGraph {
 public:
  /// One instance.
  class Node {
   public:
    explicit Node(std::string model) : model_(std::move(model)) {}
    const std::string& model() const noexcept { return model_; }
    /// Whether a batch is inside.
    void set_executing(bool value) noexcept { is_executing_.store(value, std::memory_order_release); }

   private:
    friend class CallGraph;
    const std::string model_;
    std::atomic<bool> is_executing_{false};
    std::map<std::string, int, std::less<>> waits_;  ///< open calls by model; under the graph's lock
  };

  std::shared_ptr<Node> add(std::string model) {
    auto node = std::make_shared<Node>(std::move(model));
    std::lock_guard lock(mutex_);
    nodes_.push_back(node);
    return node;
  }
  void remove(const std::shared_ptr<Node>& node) noexcept {
    std::lock_guard lock(mutex_);
    std::erase(nodes_, node);
  }
  /// The instance asks the model. \returns false: nobody could ever answer, and it is not noted
  bool begin_call(Node& from, const std::string& model) {
    std::lock_guard lock(mutex_);
    ++from.waits_[model];
    if (!is_stuck(from)) return true;
    end(from, model);
    return false;
  }
  void end_call(Node& from, const std::string& model) noexcept {
    std::lock_guard lock(mutex_);
    end(from, model);
  }

 private:
  static void end(Node& from, const std::string& model) noexcept {
    const auto found = from.waits_.find(model);
    if (found != from.waits_.end() && --found->second == 0) from.waits_.erase(found);
  }
  /// Whoever waits may be stuck, until one of the models that it waits for has somebody who is not.
  bool is_stuck(const Node& asked) const {
    std::vector<const Node*> stuck;
    for (const auto& node : nodes_) {
      if (node->is_executing_.load(std::memory_order_acquire) && !node->waits_.empty())
        stuck.push_back(node.get());
    }
    const auto contains = [&](const Node* node) { return std::ranges::find(stuck, node) != stuck.end(); };
    const auto is_served = [&](const std::string& model) {
      bool is_known = false;
      for (const auto& node : nodes_) {
        if (node->model_ != model) continue;
        is_known = true;
        if (!contains(node.get())) return true;
      }
      return !is_known;  // of another backend
    };
    const auto goes_on = [&](const Node* node) {
      return std::ranges::all_of(node->waits_, [&](const auto& wait) { return is_served(wait.first); });
    };
    while (std::erase_if(stuck, goes_on) != 0) {
    }
    return contains(&asked);
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<Node>> nodes_;
};

}  // namespace atl::python
