/// What a plugin says about its options before an instance is made of them.
///
///     void check_options(atl::OptionCheck& check) {
///       const atl::Options& options = check.options();
///       check.passes("address", Address::parse(options.get_string("address")));
///       check.list("quotas", [](const auto& texts) { return Quotas::parse(texts); });
///       if (options.get_bool("tls") && options.get_string("key").empty())
///         check.problem("key", "found nothing, expected the file of a key, as tls is true");
///       check.whole(Settings::read(options));  // whatever else create() would refuse
///     }
///
///     ATOLL_PLUGIN(Mine, {..., .options = kOptions, .check = &check_options});
///
/// `atoll --check`, a start and a reload ask every plugin of the manifest, tell all problems at once with the
/// place in the manifest, and go no further if there is one. So what reads an option is written once: the check
/// calls it for what it refuses, the instance for what it makes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "atoll/core/text.h"

namespace atl {

/// A text about an option, without the beginning that names it: "option 'address' is 'x'", "options 'a' and
/// 'b' ...", "option 'address': found 'x'".
struct OptionText {
  std::string_view key;   ///< empty: the text does not begin so
  std::string_view rest;  ///< "is 'x'", "found 'x'"; of several options the whole text

  static OptionText split(std::string_view text) {
    const bool several = text.starts_with("options '");
    if (!several && !text.starts_with("option '")) return {{}, text};
    const size_t begin = text.find('\'') + 1;
    const size_t end = text.find('\'', begin);
    if (end == std::string_view::npos) return {{}, text};
    const std::string_view key = text.substr(begin, end - begin);
    if (several) return {key, text};
    const std::string_view rest = text.substr(end + 1);
    return {key, rest.substr(std::min(rest.find_first_not_of(": "), rest.size()))};
  }
};

/// The options have passed their table's check; one that has not is its default here. Checks may read files,
/// and leave everything as it is: no thread, no connection, nothing written, nothing locked. [control]
class OptionCheck {
 public:
  virtual const Options& options() const noexcept = 0;
  /// \param key      an option of the table; empty: the one that the text begins with (OptionText), if it does,
  ///                 else the instance as a whole
  /// \param element  the key of a map's member, or a list's index in digits; empty: the option as a whole
  /// \param text     "found 'x', expected y"
  virtual void report(std::string_view key, std::string_view element, std::string_view text) noexcept = 0;
  /// Nothing was reported so far.
  virtual bool passed() const noexcept = 0;

  template <class... Parts>
  void problem(std::string_view key, const Parts&... parts) {
    report(key, {}, cat(parts...));
  }
  /// Reports the failure of a Status or a Result. \returns whether there was none
  template <class Outcome>
  bool passes(std::string_view key, const Outcome& outcome, std::string_view element = {}) {
    if (outcome.ok()) return true;
    if constexpr (requires { outcome.status(); }) {
      report(key, element, outcome.status().text());
    } else {
      report(key, element, outcome.text());
    }
    return false;
  }
  /// Reports the failure of what reads all options, unless its reason has been reported already.
  template <class Outcome>
  void whole(const Outcome& outcome) {
    if (passed()) passes({}, outcome);
  }
  /// Reports every text of a list that `reads` refuses beside those before it.
  /// \param reads  takes a list, gives a Status or a Result
  /// \returns the others
  template <class Reads>
  std::vector<std::string> list(std::string_view key, Reads&& reads) {
    const std::vector<std::string>& texts = options().get_strings(key);
    if (texts.empty()) passes(key, reads(texts));
    if (texts.empty() || reads(texts).ok()) return texts;
    std::vector<std::string> good;
    for (size_t i = 0; i < texts.size(); ++i) {
      good.push_back(texts[i]);
      if (!passes(key, reads(good), std::to_string(i))) good.pop_back();
    }
    return good;
  }
  using Members = std::map<std::string, std::string>;
  /// Reports every member of a map that `reads` refuses beside those before it. \returns the others
  template <class Reads>
  Members map(std::string_view key, Reads&& reads) {
    const Members& members = options().get_map(key);
    if (members.empty()) passes(key, reads(members));
    if (members.empty() || reads(members).ok()) return members;
    Members good;
    for (const auto& [name, text] : members) {
      good[name] = text;
      if (!passes(key, reads(std::as_const(good)), name)) good.erase(name);
    }
    return good;
  }

 protected:
  ~OptionCheck() = default;
};

/// Collects the problems as one failure, one line each: "option 'address': found 'x', expected ...".
class ProblemLines final : public OptionCheck {
 public:
  explicit ProblemLines(const Options& options) : options_(options) {}
  virtual ~ProblemLines() = default;

  const Options& options() const noexcept override { return options_; }
  bool passed() const noexcept override { return lines_.empty(); }
  void report(std::string_view key, std::string_view /*element*/, std::string_view text) noexcept override {
    const bool names_it = key.empty() || OptionText::split(text).key == key;
    lines_ += cat(lines_.empty() ? "" : "\n", names_it ? "" : cat("option '", key, "': "), text);
  }
  /// Errors: INVALID_ARGUMENT with every line.
  Status status() const { return lines_.empty() ? Status() : Status(Code::kInvalidArgument, lines_); }

 private:
  const Options& options_;
  std::string lines_;
};

}  // namespace atl
