/// What is said of a command line that is wrong: what was found, what was expected, and what was probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace atl::ctl {

/// Of a command line without a command, or without an argument that a command needs. CLI11 says only that something is required.
std::string what_is_missing(const CLI::App& app, const std::vector<std::string>& given,
                            const CLI::RequiredError& error);
/// Of a command line with more than the commands take.
std::string what_is_not_known(const CLI::App& app);
/// Of all else that CLI11 refuses.
std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error);
/// Empty: calls can go to this address of a server.
std::string wrong_target(std::string_view url);

/// An option that takes a whole number. CLI11 would take -1 for the largest number of 64 bits.
/// \param set  gets the number, which is between the two limits
CLI::Option* add_number(CLI::App& app, const std::string& names, uint64_t least, uint64_t most,
                        const std::string& help, std::function<void(uint64_t)> set);

}  // namespace atl::ctl
