/// What the check tells of, and of whom.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "configs/pbtxt/source_map.h"
#include "model_config.pb.h"

namespace atl::config {

/// An error keeps a model from loading; a warning is about something that is probably not what was meant; a
/// note says what could not be looked at here.
enum class Severity : uint32_t { kError = 0, kWarning = 1, kNote = 2 };
constexpr const char* severity_name(Severity severity) {
  return severity == Severity::kError ? "error" : severity == Severity::kWarning ? "warning" : "note";
}

struct Problem {
  Severity severity = Severity::kError;
  std::string file;   ///< the configuration, or the model's directory
  int line = 0;       ///< from 1; 0: not known
  int column = 0;     ///< from 1
  std::string field;  ///< "input[0].dims"; empty: none
  std::string text;
};

/// Of the whole file first, then in the order of the text; what was not looked at last.
inline bool in_order(const Problem& a, const Problem& b) {
  auto order = [](const Problem& problem) {
    bool last = problem.severity == Severity::kNote && problem.line == 0;
    return std::tuple(last, problem.line, problem.column);
  };
  return order(a) < order(b);
}

struct ModelReport {
  std::string name;
  std::string path;         ///< of the model's directory
  std::string config_path;  ///< empty: there is no configuration
  std::vector<Problem> problems;
  /// What the server would go on with, as far as no backend is asked. Only without errors.
  std::optional<inference::ModelConfig> config;
  /// The configuration as far as it could be read, with errors too; for what other models need of it.
  std::optional<inference::ModelConfig> read = {};
  std::shared_ptr<const pbtxt::SourceMap> source = {};  ///< places in the text of `read`
  bool may_be_completed = false;                        ///< a backend may add inputs and outputs
  std::vector<int64_t> versions = {};                   ///< those that the version policy serves
};

/// Number of problems of a severity.
inline size_t count(const ModelReport& report, Severity severity) {
  size_t found = 0;
  for (const Problem& problem : report.problems) found += problem.severity == severity ? 1 : 0;
  return found;
}

}  // namespace atl::config
