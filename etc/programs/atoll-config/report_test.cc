#include "report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace atl::config {
namespace {

TEST(ProblemLine, LeavesOutWhatIsNotKnownAndEscapes) {
  EXPECT_EQ(problem_line({Severity::kError, "f", 3, 4, "a.b", "text"}), "f:3:4: a.b: text\n");
  EXPECT_EQ(problem_line({Severity::kWarning, "f", 0, 0, "a", "text"}), "f: warning: a: text\n");
  EXPECT_EQ(problem_line({Severity::kNote, "f", 1, 2, "", "a\x1b[0m\n"}), "f:1:2: note: a\\x1b[0m\\n\n");
}

TEST(ReportJson, HasEveryProblemAndTheConfiguration) {
  ModelReport bad{
      .name = "b", .path = "/r/b", .config_path = "/r/b/config.pbtxt", .problems = {}, .config = {}};
  bad.problems.push_back({Severity::kError, "/r/b/config.pbtxt", 1, 2, "name", "wrong \xff"});
  bad.problems.push_back({Severity::kWarning, "/r/b", 0, 0, "", "odd"});
  ModelReport good{.name = "g", .path = "/r/g", .config_path = "", .problems = {}, .config = {}};
  good.config.emplace().set_name("g");
  const ModelReport reports[] = {bad, good};
  auto json = nlohmann::json::parse(report_json(reports, true).value());
  EXPECT_EQ(json["errors"], 1);
  EXPECT_EQ(json["warnings"], 1);
  EXPECT_EQ(json["models"][0]["problems"][0], (nlohmann::json{{"severity", "error"},
                                                              {"file", "/r/b/config.pbtxt"},
                                                              {"line", 1},
                                                              {"column", 2},
                                                              {"field", "name"},
                                                              {"message", "wrong \xef\xbf\xbd"}}));
  EXPECT_FALSE(json["models"][0].contains("config"));
  EXPECT_EQ(json["models"][1]["config"]["name"], "g");
  json = nlohmann::json::parse(report_json(reports, false).value());
  EXPECT_FALSE(json["models"][1].contains("config"));
}

TEST(ConfigText, IsTheTextFormatBehindTheName) {
  ModelReport report;
  report.path = "/r/m";
  EXPECT_EQ(config_text(report), "");
  report.config.emplace().set_name("m\xc3\xa4");
  EXPECT_EQ(config_text(report), "# /r/m\nname: \"m\xc3\xa4\"\n");
}

}  // namespace
}  // namespace atl::config
