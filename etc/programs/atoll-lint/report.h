/// What is said about one plugin, as it is found out.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace atl::lint {

/// Lines of a process that runs the plugin's code and may not live to their end: each is handed over at once.
class Report {
 public:
  virtual ~Report() = default;
  /// What breaks a rule.
  virtual void problem(std::string_view text) = 0;
  /// What was not looked at, and why.
  virtual void note(std::string_view text) = 0;
  /// What is being done from here on: "start".
  virtual void step(std::string_view name) = 0;
};

/// The lines, each once and no more than are read.
class LintFindings final : public Report {
 public:
  void problem(std::string_view text) override { add(problems_, text); }
  void note(std::string_view text) override { add(notes_, text); }
  void step(std::string_view name) override { step_ = name; }

  const std::vector<std::string>& problems() const { return problems_; }
  const std::vector<std::string>& notes() const { return notes_; }
  const std::string& last_step() const { return step_; }

 private:
  static void add(std::vector<std::string>& lines, std::string_view text);

  std::vector<std::string> problems_;
  std::vector<std::string> notes_;
  std::string step_;
};

/// The report of a child process, as what it has written to a pipe: a letter and a text a line.
class PipeReport final : public Report {
 public:
  explicit PipeReport(int descriptor) : descriptor_(descriptor) {}
  void problem(std::string_view text) override { write('P', text); }
  void note(std::string_view text) override { write('N', text); }
  void step(std::string_view name) override { write('S', name); }

 private:
  void write(char kind, std::string_view text);
  int descriptor_;
};

/// How long a step may take: beyond that a server that loads the plugin stands still for too long. Loading runs what the libraries do
/// that the file brings along.
inline constexpr std::chrono::seconds kStepMost{5}, kLoadingMost{30};
/// What takes longer than this is not waited for.
inline constexpr std::chrono::seconds kHangsAfter{30};

/// Reads what a PipeReport wrote until its process has ended, and adds a problem for each step that took too long. \returns false: the
/// step has hung, and nothing more was read.
bool read_report(int descriptor, LintFindings& into, std::chrono::milliseconds hangs_after = kHangsAfter,
                 std::chrono::milliseconds step_most = kStepMost);

}  // namespace atl::lint
