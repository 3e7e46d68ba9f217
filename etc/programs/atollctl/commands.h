/// The command line: what is asked of the server, and how the answer is shown.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "target.h"

namespace atl::ctl {

enum ExitCode : int {
  kDone = 0,
  kRefused = 1,      ///< the server has refused it, or a lease has failed
  kUsage = 2,        ///< the command line is wrong
  kUnreachable = 3,  ///< there is no server
};

struct Context {
  std::ostream& out;
  std::ostream& err;
  bool is_terminal = false;  ///< err is one, so that a line may be written over
  std::function<const char*(const char* name)> environment;
  std::function<std::unique_ptr<Target>(const TargetSettings&)> connect;
};

/// \param arguments  without the program's name \returns an ExitCode
int run(std::vector<std::string> arguments, const Context& context);

}  // namespace atl::ctl
