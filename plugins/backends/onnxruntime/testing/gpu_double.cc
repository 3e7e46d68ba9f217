#include "backends/onnxruntime/testing/gpu_double.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "backends/onnxruntime/testing/gpu_double_memory.h"

namespace atl::ort::test {
namespace {

const OrtApiBase& real_base() {
  static const OrtApiBase* const found = [] {
    void* const library = dlopen(ATOLL_ONNXRUNTIME_PATH, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::abort();
    using Entry = const OrtApiBase* (*)() noexcept;
    return reinterpret_cast<Entry>(dlsym(library, "OrtGetApiBase"))();
  }();
  return *found;
}

using Options = std::map<std::string, std::string>;
constexpr int32_t kNoDevice = -1;

/// All that is known, and the lock of it.
struct State {
  std::mutex mutex;
  std::map<const OrtSessionOptions*, Options> appended;
  std::map<const OrtSession*, int32_t> sessions;
  std::map<const OrtRunOptions*, std::string> graph_ids;
  /// What is recorded, by session and number: the addresses of all tensors. Sessions without graphs are not in it.
  std::map<const OrtSession*, std::map<std::string, std::vector<const void*>>> recorded;
  bool refuses_graphs = false;
  std::string report;
  std::string load_failure;
  GpuDouble::Counts counts;
  uint64_t lose_in = 0;
};
State& state() {
  static State& made = *new State;  // used until the process ends
  return made;
}

// --- the provider's options, whose type only this library knows ---

Options& options_of(const OrtCUDAProviderOptionsV2* options) {
  return *reinterpret_cast<Options*>(const_cast<OrtCUDAProviderOptionsV2*>(options));
}

OrtStatus* ORT_API_CALL create_options(OrtCUDAProviderOptionsV2** out) noexcept {
  *out = reinterpret_cast<OrtCUDAProviderOptionsV2*>(new Options);
  return nullptr;
}

OrtStatus* ORT_API_CALL update_options(OrtCUDAProviderOptionsV2* options, const char* const* keys,
                                       const char* const* values, size_t count) noexcept {
  std::lock_guard lock(state().mutex);
  if (!state().load_failure.empty()) return failure(state().load_failure.c_str());
  for (size_t i = 0; i < count; ++i) options_of(options)[keys[i]] = values[i];
  return nullptr;
}

void ORT_API_CALL release_options(OrtCUDAProviderOptionsV2* options) noexcept {
  if (options != nullptr) delete &options_of(options);
}

OrtStatus* ORT_API_CALL append(OrtSessionOptions* session, const OrtCUDAProviderOptionsV2* options) noexcept {
  std::lock_guard lock(state().mutex);
  if (!state().load_failure.empty()) return failure("Failed to load shared library");
  state().appended[session] = options_of(options);
  return nullptr;
}

void ORT_API_CALL release_session_options(OrtSessionOptions* options) noexcept {
  {
    std::lock_guard lock(state().mutex);
    state().appended.erase(options);
  }
  real_api().ReleaseSessionOptions(options);
}

// --- sessions ---

OrtStatus* ORT_API_CALL create_session(const OrtEnv* env, const char* path, const OrtSessionOptions* options,
                                       OrtSession** out) noexcept {
  if (OrtStatus* status = real_api().CreateSession(env, path, options, out)) return status;
  std::lock_guard lock(state().mutex);
  const auto appended = state().appended.find(options);
  if (appended == state().appended.end()) return nullptr;
  const int32_t device = std::atoi(appended->second["device_id"].c_str());
  if (!open_device(device)) {
    real_api().ReleaseSession(*out);
    *out = nullptr;
    return failure("CUDA failure 101: invalid device ordinal");
  }
  if (appended->second.contains("enable_cuda_graph")) {
    if (state().refuses_graphs) {
      close_device(device);
      real_api().ReleaseSession(*out);
      *out = nullptr;
      return failure("This session cannot use the graph capture feature");
    }
    state().recorded[*out];
  }
  state().sessions[*out] = device;
  std::string line = "session";
  for (const auto& [key, value] : appended->second) line += " " + key + "=" + value;
  state().report += line + "\n";
  return nullptr;
}

void ORT_API_CALL release_session(OrtSession* session) noexcept {
  {
    std::lock_guard lock(state().mutex);
    if (const auto found = state().sessions.find(session); found != state().sessions.end()) {
      close_device(found->second);
      state().sessions.erase(found);
      state().recorded.erase(session);
    }
  }
  real_api().ReleaseSession(session);
}

int32_t device_of_session(const OrtSession* session) {
  std::lock_guard lock(state().mutex);
  const auto found = state().sessions.find(session);
  return found == state().sessions.end() ? kNoDevice : found->second;
}

// --- runs ---

/// A tensor as the real library can use it.
class View {
 public:
  View() = default;
  View(View&& other) noexcept : made_(other.made_), value_(other.value_) { other.made_ = nullptr; }
  ~View() {
    if (made_ != nullptr) real_api().ReleaseValue(made_);
  }
  OrtStatus* open(const OrtValue* value, int32_t device) {
    value_ = const_cast<OrtValue*>(value);
    if (value == nullptr || !is_on_device(*value)) return nullptr;
    if (device_of(*value) != device) return failure("no data transfer from another device");
    OrtStatus* const status = view_on_host(*value, &made_);
    value_ = made_;
    return status;
  }
  bool on_device() const { return made_ != nullptr; }
  OrtValue* value() const { return value_; }

 private:
  OrtValue* made_ = nullptr;
  OrtValue* value_ = nullptr;
};

OrtStatus* begin_run(int32_t device) {
  std::lock_guard lock(state().mutex);
  ++state().counts.runs;
  if (state().lose_in == 0 || --state().lose_in != 0) return nullptr;
  lose_device(device);
  return failure("CUDA failure 700: an illegal memory access was encountered");
}

void count(const std::vector<View>& inputs, const std::vector<View>& outputs) {
  std::lock_guard lock(state().mutex);
  state().counts.inputs += static_cast<uint64_t>(std::ranges::count_if(inputs, &View::on_device));
  state().counts.outputs += static_cast<uint64_t>(std::ranges::count_if(outputs, &View::on_device));
}

OrtStatus* ORT_API_CALL add_run_entry(OrtRunOptions* options, const char* key, const char* value) noexcept {
  if (std::strcmp(key, "gpu_graph_id") == 0) {
    std::lock_guard lock(state().mutex);
    state().graph_ids[options] = value;
  }
  return real_api().AddRunConfigEntry(options, key, value);
}
void ORT_API_CALL release_run_options(OrtRunOptions* options) noexcept {
  {
    std::lock_guard lock(state().mutex);
    state().graph_ids.erase(options);
  }
  real_api().ReleaseRunOptions(options);
}

/// A session with graphs records the first run of a number, and replays it on the same addresses, whatever it is given.
OrtStatus* check_graph(const OrtSession* session, const OrtRunOptions* options, const OrtValue* const* inputs,
                       size_t input_count, OrtValue* const* outputs, size_t output_count) {
  std::lock_guard lock(state().mutex);
  const auto graphs = state().recorded.find(session);
  if (graphs == state().recorded.end()) return nullptr;
  const std::string id = state().graph_ids[options];
  if (id == "-1") return nullptr;
  std::vector<const void*> addresses;
  std::vector<const OrtValue*> values(inputs, inputs + input_count);
  values.insert(values.end(), outputs, outputs + output_count);
  for (const OrtValue* value : values) {
    if (value == nullptr || !is_on_device(*value)) return failure("a graph needs its tensors on the device");
    void* data = nullptr;
    if (OrtStatus* status = real_api().GetTensorMutableData(const_cast<OrtValue*>(value), &data))
      return status;
    addresses.push_back(data);
  }
  if (state().refuses_graphs) return failure("the stream cannot be captured");
  const auto [known, is_new] = graphs->second.emplace(id, addresses);
  if (!is_new) ++state().counts.replays;
  return known->second == addresses ? nullptr : failure("a graph is replayed on other tensors");
}

OrtStatus* open_views(const OrtValue* const* values, size_t count, int32_t device, std::vector<View>& views,
                      std::vector<OrtValue*>& opened) {
  for (size_t i = 0; i < count; ++i) {
    if (OrtStatus* status = views.emplace_back().open(values[i], device)) return status;
    opened.push_back(views.back().value());
  }
  return nullptr;
}

OrtStatus* ORT_API_CALL run(OrtSession* session, const OrtRunOptions* options, const char* const* input_names,
                            const OrtValue* const* inputs, size_t input_count,
                            const char* const* output_names, size_t output_count,
                            OrtValue** outputs) noexcept {
  const int32_t device = device_of_session(session);
  if (device != kNoDevice) {
    if (OrtStatus* status = begin_run(device)) return status;
    if (OrtStatus* status = check_graph(session, options, inputs, input_count, outputs, output_count))
      return status;
  }
  std::vector<View> input_views, output_views;
  std::vector<OrtValue*> used, made;
  if (OrtStatus* status = open_views(inputs, input_count, device, input_views, used)) return status;
  if (OrtStatus* status = open_views(outputs, output_count, device, output_views, made)) return status;
  count(input_views, output_views);
  OrtStatus* const status = real_api().Run(session, options, input_names, used.data(), input_count,
                                           output_names, output_count, made.data());
  for (size_t i = 0; status == nullptr && i < output_count; ++i) {
    if (outputs[i] == nullptr) outputs[i] = made[i];
  }
  return status;
}

// --- binding ---

struct Binding {
  struct Output {
    std::string name;
    const OrtValue* value = nullptr;  ///< null: to be made
    bool on_device = false;
    OrtValue* made = nullptr;
  };
  OrtSession* session = nullptr;
  std::vector<std::string> input_names;
  std::vector<const OrtValue*> inputs;
  std::vector<Output> outputs;
  void forget_outputs() {
    for (const Output& output : outputs) {
      if (output.made != nullptr) release_value(output.made);
    }
    outputs.clear();
  }
};

Binding& binding_of(const OrtIoBinding* binding) {
  return *reinterpret_cast<Binding*>(const_cast<OrtIoBinding*>(binding));
}

OrtStatus* ORT_API_CALL create_binding(OrtSession* session, OrtIoBinding** out) noexcept {
  auto* made = new Binding;
  made->session = session;
  *out = reinterpret_cast<OrtIoBinding*>(made);
  return nullptr;
}
void ORT_API_CALL clear_inputs(OrtIoBinding* binding) noexcept {
  binding_of(binding).input_names.clear();
  binding_of(binding).inputs.clear();
}
void ORT_API_CALL clear_outputs(OrtIoBinding* binding) noexcept { binding_of(binding).forget_outputs(); }
void ORT_API_CALL release_binding(OrtIoBinding* binding) noexcept {
  if (binding == nullptr) return;
  clear_outputs(binding);
  delete &binding_of(binding);
}
OrtStatus* ORT_API_CALL bind_input(OrtIoBinding* binding, const char* name, const OrtValue* value) noexcept {
  binding_of(binding).input_names.emplace_back(name);
  binding_of(binding).inputs.push_back(value);
  return nullptr;
}
OrtStatus* ORT_API_CALL bind_output(OrtIoBinding* binding, const char* name, const OrtValue* value) noexcept {
  binding_of(binding).outputs.push_back({name, value, false, nullptr});
  return nullptr;
}
OrtStatus* ORT_API_CALL bind_output_to_device(OrtIoBinding* binding, const char* name,
                                              const OrtMemoryInfo* info) noexcept {
  OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
  real_api().MemoryInfoGetDeviceType(info, &type);
  binding_of(binding).outputs.push_back({name, nullptr, type == OrtMemoryInfoDeviceType_GPU, nullptr});
  return nullptr;
}

/// What a run has made for an output that was to be made, brought to where it was wanted.
OrtStatus* place(Binding::Output& output, OrtValue* made, int32_t device) {
  output.made = made;
  if (!output.on_device) return nullptr;
  OrtStatus* const status = move_to_device(*made, device, &output.made);
  real_api().ReleaseValue(made);
  if (status != nullptr) output.made = nullptr;
  return status;
}

OrtStatus* ORT_API_CALL run_with_binding(OrtSession* session, const OrtRunOptions* options,
                                         const OrtIoBinding* raw) noexcept {
  Binding& binding = binding_of(raw);
  std::vector<const char*> input_names, output_names;
  std::vector<OrtValue*> values;
  for (const std::string& name : binding.input_names) input_names.push_back(name.c_str());
  for (const Binding::Output& output : binding.outputs) {
    output_names.push_back(output.name.c_str());
    values.push_back(const_cast<OrtValue*>(output.value));
  }
  if (OrtStatus* status =
          run(session, options, input_names.data(), binding.inputs.data(), binding.inputs.size(),
              output_names.data(), output_names.size(), values.data())) {
    return status;
  }
  OrtStatus* status = nullptr;
  for (size_t i = 0; i < values.size(); ++i) {
    Binding::Output& output = binding.outputs[i];
    if (output.value != nullptr) continue;
    if (output.on_device) {
      std::lock_guard lock(state().mutex);
      ++state().counts.outputs;
    }
    if (OrtStatus* failed = place(output, values[i], device_of_session(session))) {
      if (status != nullptr) real_api().ReleaseStatus(status);
      status = failed;
    }
  }
  return status;
}

OrtStatus* ORT_API_CALL bound_values(const OrtIoBinding* raw, OrtAllocator* allocator, OrtValue*** values,
                                     size_t* count) noexcept {
  std::vector<Binding::Output>& outputs = binding_of(raw).outputs;
  *count = outputs.size();
  *values = static_cast<OrtValue**>(allocator->Alloc(allocator, outputs.size() * sizeof(OrtValue*)));
  for (size_t i = 0; i < outputs.size(); ++i) {
    (*values)[i] = outputs[i].made;
    outputs[i].made = nullptr;
    if (outputs[i].value == nullptr) continue;
    if (OrtStatus* status = share(*outputs[i].value, &(*values)[i])) return status;
  }
  return nullptr;
}

// --- what tests ask and say ---

GpuDouble::Counts counts() {
  std::lock_guard lock(state().mutex);
  return state().counts;
}
const char* sessions() {
  static std::string text;
  std::lock_guard lock(state().mutex);
  text = state().report;
  return text.c_str();
}
void lose_in_run(uint64_t nth) {
  std::lock_guard lock(state().mutex);
  state().lose_in = nth;
}
void fail_loading(const char* reason) {
  std::lock_guard lock(state().mutex);
  state().load_failure = reason;
}
void forget() {
  std::lock_guard lock(state().mutex);
  state().report.clear();
  state().load_failure.clear();
  state().counts = {};
  state().lose_in = 0;
  state().refuses_graphs = false;
}
void refuse_graphs() {
  std::lock_guard lock(state().mutex);
  state().refuses_graphs = true;
}

void ORT_API_CALL release_environment(OrtEnv* env) noexcept {
  if (const char* path = std::getenv("ATOLL_ONNXRUNTIME_DOUBLE_REPORT")) {
    if (std::FILE* file = std::fopen(path, "a")) {
      const GpuDouble::Counts seen = counts();
      std::fprintf(file, "%sruns=%lu inputs=%lu outputs=%lu replays=%lu\n", sessions(),
                   static_cast<unsigned long>(seen.runs), static_cast<unsigned long>(seen.inputs),
                   static_cast<unsigned long>(seen.outputs), static_cast<unsigned long>(seen.replays));
      std::fclose(file);
    }
  }
  real_api().ReleaseEnv(env);
}

OrtApi make_table() {
  if (const char* reason = std::getenv("ATOLL_ONNXRUNTIME_DOUBLE_FAILURE")) fail_loading(reason);
  OrtApi table = real_api();
  table.CreateCUDAProviderOptions = &create_options;
  table.UpdateCUDAProviderOptions = &update_options;
  table.ReleaseCUDAProviderOptions = &release_options;
  table.SessionOptionsAppendExecutionProvider_CUDA_V2 = &append;
  table.ReleaseSessionOptions = &release_session_options;
  table.CreateSession = &create_session;
  table.ReleaseSession = &release_session;
  table.Run = &run;
  table.AddRunConfigEntry = &add_run_entry;
  table.ReleaseRunOptions = &release_run_options;
  table.CreateIoBinding = &create_binding;
  table.ReleaseIoBinding = &release_binding;
  table.BindInput = &bind_input;
  table.BindOutput = &bind_output;
  table.BindOutputToDevice = &bind_output_to_device;
  table.ClearBoundInputs = &clear_inputs;
  table.ClearBoundOutputs = &clear_outputs;
  table.RunWithBinding = &run_with_binding;
  table.GetBoundOutputValues = &bound_values;
  table.ReleaseValue = &release_value;
  table.ReleaseEnv = &release_environment;
  return table;
}

const OrtApi* ORT_API_CALL get_api(uint32_t version) noexcept {
  static const OrtApi table = make_table();
  return version <= ORT_API_VERSION ? &table : nullptr;
}
const char* ORT_API_CALL version() noexcept { return real_base().GetVersionString(); }

}  // namespace

const OrtApi& real_api() noexcept {
  static const OrtApi* const found = real_base().GetApi(ORT_API_VERSION);
  return *found;
}

}  // namespace atl::ort::test

extern "C" __attribute__((visibility("default"))) const OrtApiBase* ORT_API_CALL OrtGetApiBase() noexcept {
  static const OrtApiBase base{&atl::ort::test::get_api, &atl::ort::test::version};
  return &base;
}

extern "C" __attribute__((visibility("default"))) const atl::ort::test::GpuDouble*
atoll_onnxruntime_double() {
  using namespace atl::ort::test;
  static const GpuDouble made{&sessions, &counts, &lose_in_run, &fail_loading, &refuse_graphs, &forget};
  return &made;
}
