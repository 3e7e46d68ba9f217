#include <unistd.h>

#include <iostream>

#include "kernel/cli/command_line.h"

int main(int argc, char** argv) {
  return atl::kernel::run_command(argc, argv, environ, std::cout, std::cerr);
}
