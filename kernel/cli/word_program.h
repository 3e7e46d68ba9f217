/// `atoll WORD ...`: a program of its own, the file atoll-WORD beside this one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"

namespace atl::kernel {

/// The words that there are programs for, ordered.
std::vector<std::string> program_words(const std::string& folder);

/// The path of a word's program. Errors: NOT_FOUND, with the word that was probably meant.
Result<std::string> find_program(const std::string& folder, std::string_view word);

/// Becomes that program, so that signals and the exit code are its own. \param argv  atoll, the word and what is
/// for the program. \returns only the failure
Status become_program(const std::string& folder, const char* const* argv);

}  // namespace atl::kernel
