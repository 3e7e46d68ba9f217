/// What became of models while the server starts.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model_index.h"

namespace atl::serve {

class Progress {
 public:
  /// \param wanted  the models that are to be loaded; null: all
  explicit Progress(const std::set<std::string>* wanted) : wanted_(wanted) {}

  /// Takes what the server says now. \returns a line for each model that is in another state than before
  std::vector<std::string> update(std::span<const IndexedModel> models);
  /// Whether every model that is to be loaded is ready or has failed.
  bool is_decided() const noexcept { return is_decided_; }
  size_t ready() const noexcept { return ready_; }
  size_t failed() const noexcept { return failed_; }
  /// A model that is ready; empty: none.
  const std::string& example() const noexcept { return example_; }

 private:
  const std::set<std::string>* const wanted_;
  std::map<std::pair<std::string, std::string>, std::string> lines_;  // by name and version
  std::map<std::string, std::string> reasons_;  // of failures, and the first model that failed so
  bool is_decided_ = false;
  size_t ready_ = 0;
  size_t failed_ = 0;
  std::string example_;
};

}  // namespace atl::serve
