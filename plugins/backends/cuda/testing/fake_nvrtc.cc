/// A library with NVRTC's functions, for unit tests. What it makes of a source is the source's text from its first line that
/// begins with .version, with the options in front as a comment. "#error" is an error of the source.
#include <cstring>
#include <string>

namespace {

struct FakeProgram {
  std::string source;
  std::string name;
  std::string log;
  std::string machine;
  std::string ptx;
};

constexpr int kInvalidOption = 5;
constexpr int kCompilation = 6;

size_t bytes_with_nul(const std::string& text) { return text.size() + 1; }

}  // namespace

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

FAKE_EXPORT const char* nvrtcGetErrorString(int result) {
  return result == kCompilation     ? "NVRTC_ERROR_COMPILATION"
         : result == kInvalidOption ? "NVRTC_ERROR_INVALID_OPTION"
                                    : "NVRTC_ERROR";
}
FAKE_EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  *count = 3;
  return 0;
}
FAKE_EXPORT int nvrtcGetSupportedArchs(int* capabilities) {
  capabilities[0] = 75;
  capabilities[1] = 80;
  capabilities[2] = 90;
  return 0;
}
FAKE_EXPORT int nvrtcCreateProgram(FakeProgram** program, const char* source, const char* name, int,
                                   const char* const*, const char* const*) {
  *program = new FakeProgram{source, name, {}, {}, {}};
  return 0;
}
FAKE_EXPORT int nvrtcDestroyProgram(FakeProgram** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
FAKE_EXPORT int nvrtcCompileProgram(FakeProgram* program, int count, const char* const* options) {
  std::string all;
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(options[i], "--unknown") == 0) {
      program->log = "nvrtc: error: unrecognized option --unknown found\n";
      return kInvalidOption;
    }
    all += std::string(" ") + options[i];
  }
  if (program->source.find("#error") != std::string::npos) {
    program->log =
        program->name + "(1): catastrophic error: #error directive\n\n1 error detected in the compilation.\n";
    return kCompilation;
  }
  const size_t begin = program->source.find(".version");
  const std::string code =
      "//" + all + "\n" + (begin == std::string::npos ? "" : program->source.substr(begin));
  (all.find("=sm_") != std::string::npos ? program->machine : program->ptx) = code;
  return 0;
}
FAKE_EXPORT int nvrtcGetProgramLogSize(FakeProgram* program, size_t* bytes) {
  *bytes = bytes_with_nul(program->log);
  return 0;
}
FAKE_EXPORT int nvrtcGetProgramLog(FakeProgram* program, char* log) {
  std::memcpy(log, program->log.c_str(), bytes_with_nul(program->log));
  return 0;
}
FAKE_EXPORT int nvrtcGetCUBINSize(FakeProgram* program, size_t* bytes) {
  *bytes = program->machine.size();
  return 0;
}
FAKE_EXPORT int nvrtcGetCUBIN(FakeProgram* program, char* code) {
  std::memcpy(code, program->machine.data(), program->machine.size());
  return 0;
}
FAKE_EXPORT int nvrtcGetPTXSize(FakeProgram* program, size_t* bytes) {
  *bytes = bytes_with_nul(program->ptx);
  return 0;
}
FAKE_EXPORT int nvrtcGetPTX(FakeProgram* program, char* code) {
  std::memcpy(code, program->ptx.c_str(), bytes_with_nul(program->ptx));
  return 0;
}
