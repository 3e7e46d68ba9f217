#include "report.h"

#include <google/protobuf/text_format.h>

#include <nlohmann/json.hpp>

#include "atoll/core/text.h"
#include "atoll/proto/model_config_json.h"
#include "atoll/runtime/escape.h"
#include "configs/pbtxt/serialize.h"

namespace atl::config {
namespace {

using Json = nlohmann::ordered_json;

Json problem_json(const Problem& problem) {
  return {{"severity", severity_name(problem.severity)},
          {"file", problem.file},
          {"line", problem.line},
          {"column", problem.column},
          {"field", problem.field},
          {"message", problem.text}};
}

Result<Json> config_json(const inference::ModelConfig& config) {
  auto bytes = pbtxt::serialize(config);
  if (!bytes.ok()) return std::move(bytes).status();
  auto text = proto::model_config_json(*bytes);
  if (!text.ok()) return std::move(text).status();
  return Json::parse(*text);
}

}  // namespace

std::string problem_line(const Problem& problem) {
  std::string text = problem.file;
  if (problem.line > 0) text += cat(":", problem.line, ":", problem.column);
  text += ": ";
  if (problem.severity != Severity::kError) text += cat(severity_name(problem.severity), ": ");
  if (!problem.field.empty()) text += cat(problem.field, ": ");
  text += problem.text;
  std::string line;
  runtime::append_escaped(line, text);
  return line + '\n';
}

std::string config_text(const ModelReport& report) {
  if (!report.config) return {};
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  printer.PrintToString(*report.config, &text);
  std::string comment = "# ";
  runtime::append_escaped(comment, report.path);
  return cat(comment, "\n", text);
}

Result<std::string> report_json(std::span<const ModelReport> reports, bool with_config) {
  Json models = Json::array();
  size_t errors = 0, warnings = 0;
  for (const ModelReport& report : reports) {
    Json problems = Json::array();
    for (const Problem& problem : report.problems) problems.push_back(problem_json(problem));
    errors += count(report, Severity::kError);
    warnings += count(report, Severity::kWarning);
    Json model = {{"name", report.name},
                  {"path", report.path},
                  {"config_path", report.config_path},
                  {"problems", std::move(problems)}};
    if (with_config && report.config) {
      auto config = config_json(*report.config);
      if (!config.ok()) return std::move(config).status();
      model["config"] = std::move(config).value();
    }
    models.push_back(std::move(model));
  }
  Json all = {{"models", std::move(models)}, {"errors", errors}, {"warnings", warnings}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace atl::config
