#include "progress.h"

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/runtime/escape.h"

namespace atl::serve {
namespace {

std::string name_of(const IndexedModel& model) {
  std::string out;
  runtime::append_escaped(out, model.name);
  if (!model.version.empty() && model.version != "1") out += cat(" version ", model.version);
  return out;
}

std::string line_of(const IndexedModel& model) {
  std::string out = name_of(model) + ": ";
  if (model.state == "READY") return out + "ready";
  if (model.state == "LOADING") return out + "loading";
  out += model.state == "UNAVAILABLE" ? "failed" : "unloading";
  if (!model.reason.empty()) runtime::append_escaped(out, ": " + model.reason);
  return out;
}

}  // namespace

std::vector<std::string> Progress::update(std::span<const IndexedModel> models) {
  std::vector<std::string> lines;
  std::set<std::string> missing = wanted_ == nullptr ? std::set<std::string>() : *wanted_;
  is_decided_ = true;
  ready_ = failed_ = 0;
  example_.clear();
  for (const IndexedModel& model : models) {
    missing.erase(model.name);
    if (wanted_ != nullptr && !wanted_->contains(model.name)) continue;
    const bool is_ready = model.state == "READY", has_failed = model.state == "UNAVAILABLE";
    is_decided_ = is_decided_ && (is_ready || has_failed);
    ready_ += is_ready ? 1 : 0;
    failed_ += has_failed ? 1 : 0;
    if (is_ready && example_.empty()) example_ = model.name;
    if (model.state.empty()) continue;
    std::string line = line_of(model);
    if (has_failed && !model.reason.empty()) {
      // What is missing for one is missing for many, and is said once.
      const std::string& first = reasons_.emplace(model.reason, name_of(model)).first->second;
      std::string shorter = cat(name_of(model), ": failed for the same reason as ", first);
      if (first != name_of(model) && shorter.size() < line.size()) line = std::move(shorter);
    }
    std::string& before = lines_[{model.name, model.version}];
    if (before != line) lines.push_back(before = std::move(line));
  }
  // What is to be loaded and not in a repository; the server has said so.
  failed_ += missing.size();
  return lines;
}

}  // namespace atl::serve
