/// Serves what a command line asks for, from the look through the folder to the end of the server.
#pragma once

#include <iosfwd>
#include <string>

#include "serve_options.h"
#include "serve_plan.h"
#include "server_process.h"

namespace atl::serve {

/// Addresses and what the demonstration shows go to `out`, all else to `err`. \returns the exit code
int serve(const std::string& word, ServeOptions options, const ServeContext& context,
          const SignalFeed& signals, std::ostream& out, std::ostream& err);

}  // namespace atl::serve
