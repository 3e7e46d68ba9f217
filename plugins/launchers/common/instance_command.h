/// What is executed for a server, with places for what is known only when it is started.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"

namespace atl::launchers {

/// Names of places that a launcher fills.
using PlaceNames = std::span<const std::string_view>;
/// By name, without the braces.
using Places = std::map<std::string, std::string, std::less<>>;

class InstanceCommand {
 public:
  /// Words between blanks; one that begins with a double quote goes on to the next one, and has \" and \\ for these two
  /// characters. {repository} and the like anywhere in them are places.
  /// \param known  places that will be filled
  /// Errors: INVALID_ARGUMENT no words, a quote without end, or a place that nobody fills.
  static Result<InstanceCommand> parse(std::string_view text, PlaceNames known);

  bool has_place(std::string_view name) const;
  /// \param places  all there are
  std::vector<std::string> fill(const Places& places) const;

 private:
  std::vector<std::string> words_;
};

/// Command lines of an option 'runtimes', by name, with one for "atoll" unless it is there. \param known  as for parse()
/// Errors: INVALID_ARGUMENT names option and runtime; of `default_runtime` too, which has to be one of them.
/// Reports each of them that is none.
void check_runtimes(OptionCheck& check, PlaceNames known);
Result<std::map<std::string, InstanceCommand>> read_runtimes(const Options& options, std::string_view atoll,
                                                             PlaceNames known);
/// Whether an id of a server can be the name of a folder or job: 1 to 128 letters, digits and '-'.
bool is_server_id(std::string_view id);

}  // namespace atl::launchers
