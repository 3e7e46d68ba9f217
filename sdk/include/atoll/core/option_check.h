/// What a plugin says about its options before an instance is made of them, beyond what the option
/// table (option_table.h) can say.
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
/// `atoll --check`, a start and a reload ask every plugin of the manifest. They report all problems
/// at once, each with its file, line and column in the manifest, and go no further if there is one.
/// So a function that reads an option is written once: the check calls it for the failure, and the
/// instance for the value.
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

/// A text about an option, split into the option's name and what is said of it. Failures of
/// functions that read options often begin with the name: "option 'address' is 'x'", "options 'a'
/// and 'b' exclude each other", "option 'address': found 'x'". A problem is then shown at the place
/// of that option.
struct OptionText {
  /// The first option that the text begins with; empty if it begins with none.
  std::string_view key;
  /// What follows: "is 'x'", "found 'x'". Of a text that names several options, the whole text.
  std::string_view rest;

  /// Both parts are borrowed from `text`. [any]
  static OptionText split(std::string_view text) {
    // The two beginnings that functions which read options use.
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

/// What a check is given: the options, and the place to report to. The values have passed the
/// option table's check; a value that has not is replaced by its default here, and problems of it
/// are not shown a second time. A check may read files, and leaves everything as it was: it starts
/// no thread, opens no connection, writes nothing and locks nothing. It may be called any number of
/// times. [control]
class OptionCheck {
 public:
  /// The options as the instance would get them. Valid during the check.
  virtual const Options& options() const noexcept = 0;
  /// Reports one problem. Checks mostly call one of the functions below instead.
  /// \param key  an option of the table; empty: the option that the text begins with (OptionText),
  /// or else the instance as a whole
  /// \param element  the key of a map's member, or the digits of a list's index; empty: the option
  /// as a whole
  /// \param text  "found 'x', expected y"
  virtual void report(std::string_view key, std::string_view element, std::string_view text) noexcept = 0;
  /// True as long as nothing was reported.
  virtual bool passed() const noexcept = 0;

  /// Reports a problem of one option; the parts are joined as cat() does.
  template <class... Parts>
  void problem(std::string_view key, const Parts&... parts) {
    report(key, {}, cat(parts...));
  }
  /// Reports the failure of a Status or a Result, if it is one.
  /// \returns whether it was a success
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
  /// Reports the failure of a function that reads all options, unless a problem was reported
  /// before: the failure would most likely repeat it.
  template <class Outcome>
  void whole(const Outcome& outcome) {
    if (passed()) passes({}, outcome);
  }
  /// Reports each element of a list that a function refuses when it is given together with the good
  /// elements before it. So every wrong element is found in one check, with its own place.
  /// \param reads  takes a list, and returns a Status or a Result
  /// \returns the elements that are good
  template <class Reads>
  std::vector<std::string> list(std::string_view key, Reads&& reads) {
    const std::vector<std::string>& texts = options().get_strings(key);
    if (texts.empty()) passes(key, reads(texts));
    if (texts.empty() || reads(texts).ok()) return texts;
    // Without those that were refused, or one wrong element would be reported again with each that
    // follows.
    std::vector<std::string> good;
    for (size_t i = 0; i < texts.size(); ++i) {
      good.push_back(texts[i]);
      if (!passes(key, reads(good), std::to_string(i))) good.pop_back();
    }
    return good;
  }
  /// A value of the type ATOLL_OPTION_STRING_MAP.
  using Members = std::map<std::string, std::string>;
  /// The same for each member of a map, in the order of the keys.
  /// \returns the members that are good
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

/// Collects all problems into one failure, with one line each: "option 'address': found 'x',
/// expected ...". This is what an instance's `create` makes of its check, and what unit tests of a
/// check use.
class ProblemLines final : public OptionCheck {
 public:
  /// \param options  borrowed; outlives this object
  explicit ProblemLines(const Options& options) : options_(options) {}
  virtual ~ProblemLines() = default;

  /// OptionCheck's functions; `element` is not shown.
  const Options& options() const noexcept override { return options_; }
  bool passed() const noexcept override { return lines_.empty(); }
  void report(std::string_view key, std::string_view /*element*/, std::string_view text) noexcept override {
    // A text that begins with the option's name, as "option 'a': found ...", does not get the name
    // twice.
    const bool names_it = key.empty() || OptionText::split(text).key == key;
    lines_ += cat(lines_.empty() ? "" : "\n", names_it ? "" : cat("option '", key, "': "), text);
  }
  /// Success if nothing was reported.
  /// Errors: INVALID_ARGUMENT with every line.
  Status status() const { return lines_.empty() ? Status() : Status(Code::kInvalidArgument, lines_); }

 private:
  /// What the check looks at.
  const Options& options_;
  /// All problems so far, with a line break between two.
  std::string lines_;
};

}  // namespace atl
