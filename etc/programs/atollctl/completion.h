/// Completion of the command line in shells.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace atl::ctl {

/// A script for the shell to source, made of the program's own commands and options. \param shell  bash, zsh or fish
/// \returns nothing: of another shell
std::optional<std::string> completion_script(const CLI::App& app, std::string_view shell);

}  // namespace atl::ctl
