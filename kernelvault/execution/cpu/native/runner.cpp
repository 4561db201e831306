// Runs one candidate on its workloads: runner JOB DEVICE_LIBRARY HOST_LIBRARY OUT_FOLDER run|noop SECONDS
//
// JOB is text, one item a line:
//   call                                              begins a call
//   input FILE CODE BITS BYTES OFFSET NDIM SHAPE... STRIDES...
//   output POISON CODE BITS BYTES NDIM SHAPE... STRIDES...
//   scalar i INTEGER | scalar f HEXFLOAT | scalar b 0|1
// Raw outputs of call c go to OUT_FOLDER/c_o.bin; facts and faults to OUT_FOLDER/report.
#include <cinttypes>
#include <fstream>
#include <iterator>
#include <sstream>

#include "hip_api.hpp"

#include <kernelvault/abi.h>

namespace kv {

struct TensorInfo {
  std::string file;
  int poison = 0;
  DLDataType dtype{};
  size_t bytes = 0;
  uint64_t offset = 0;
  std::vector<int64_t> shape, strides;
};

struct CallInfo {
  std::vector<TensorInfo> inputs, outputs;
  std::vector<kv_scalar> scalars;
};

static std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

static void read_shape(std::istream& in, TensorInfo& t) {
  size_t ndim;
  in >> ndim;
  t.shape.resize(ndim);
  t.strides.resize(ndim);
  for (auto& v : t.shape) in >> v;
  for (auto& v : t.strides) in >> v;
}

static std::vector<CallInfo> read_job(const char* path) {
  std::ifstream in(path);
  std::vector<CallInfo> calls;
  std::string word;
  while (in >> word) {
    if (word == "call") {
      calls.emplace_back();
    } else if (word == "input" || word == "output") {
      TensorInfo t;
      int code, bits;
      if (word == "input") in >> t.file;
      else in >> t.poison;
      in >> code >> bits >> t.bytes;
      if (word == "input") in >> t.offset;
      t.dtype = {(uint8_t)code, (uint8_t)bits, 1};
      read_shape(in, t);
      (word == "input" ? calls.back().inputs : calls.back().outputs).push_back(t);
    } else if (word == "scalar") {
      kv_scalar s{};
      std::string tag, text;
      in >> tag >> text;
      s.tag = tag == "i" ? KV_INT : tag == "f" ? KV_FLOAT : KV_BOOL;
      if (tag == "i") s.value.i64 = strtoll(text.c_str(), nullptr, 10);
      else if (tag == "f") s.value.f64 = strtod(text.c_str(), nullptr);
      else s.value.b = text == "1";
      calls.back().scalars.push_back(s);
    }
  }
  return calls;
}

static DLTensor view(TensorInfo& t, char* data) {
  DLTensor out{};
  out.data = data;
  out.device = {kDLROCM, 0};
  out.ndim = (int32_t)t.shape.size();
  out.dtype = t.dtype;
  out.shape = t.shape.data();
  out.strides = t.strides.data();
  out.byte_offset = t.offset;
  return out;
}

static void load(const std::string& path, char* to, size_t bytes) {
  std::ifstream in(path, std::ios::binary);
  if (!in.read(to, (std::streamsize)bytes)) {
    report("broken cannot read %s", path.c_str());
    _exit(2);
  }
}

static void store(const std::string& path, const std::vector<char>& data) {
  std::ofstream out(path, std::ios::binary);
  if (!out.write(data.data(), (std::streamsize)data.size())) {
    report("broken cannot write %s", path.c_str());
    _exit(2);
  }
}

using Launch = int (*)(const kv_args*);
using WorkspaceSize = size_t (*)(const kv_args*);

// One run of one call: fresh poison, the candidate's own code, then its outputs.
static std::vector<std::vector<char>> run_once(CallInfo& call, Launch launch, WorkspaceSize workspace_size,
                                               const std::string& inputs_folder) {
  std::vector<DLTensor> inputs, outputs;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    TensorInfo& t = call.inputs[i];
    char* data = add_region("input " + std::to_string(i), t.bytes, false);
    load(inputs_folder + t.file, data, t.bytes);
    inputs.push_back(view(t, data));
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    TensorInfo& t = call.outputs[i];
    char* data = add_region("output " + std::to_string(i), t.bytes, true);
    memset(data, t.poison, t.bytes);
    outputs.push_back(view(t, data));
  }
  kv_args args{KV_ABI_VERSION, (int32_t)inputs.size(), inputs.data(), (int32_t)outputs.size(), outputs.data(),
               (int32_t)call.scalars.size(), call.scalars.data(), nullptr, 0, the_stream};
  protect_all(false);
  if (workspace_size) {
    args.workspace_bytes = workspace_size(&args);
    if (args.workspace_bytes > (4ull << 30)) fault("memory_limit", "asks for %zu bytes of workspace", args.workspace_bytes);
    args.workspace = add_region("workspace", args.workspace_bytes, true);
    memset(args.workspace, 0xff, args.workspace_bytes);
    protect_all(false);
  }
  int status = launch(&args);
  if (status != 0) fault("error_code", "kv_launch returned %d", status);
  if (last_error != hipSuccess) fault("launch_error", "a HIP error %d was left unread", (int)last_error);
  open_all();
  check_canaries();
  std::vector<std::vector<char>> results;
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    char* data = (char*)outputs[i].data;
    results.emplace_back(data, data + call.outputs[i].bytes);
  }
  release_all();
  return results;
}

// A run that takes too long says where it is before the sandbox ends it.
static void on_deadline(int number) {
  const char* limit = number == SIGXCPU ? "CPU time" : "wall time";
  kv_uint3 b = kv_block_idx, t = kv_thread_idx;
  if (in_kernel)
    fault("timeout", "kernel %s was not done at the limit of %s, in block (%u,%u,%u), work-item (%u,%u,%u)",
          current_kernel->name.c_str(), limit, b.x, b.y, b.z, t.x, t.y, t.z);
  fault("timeout", "kv_launch was not done at the limit of %s", limit);
}

static void on_signal(int number, siginfo_t* info, void* context) {
  bool write_access = ((ucontext_t*)context)->uc_mcontext.gregs[REG_ERR] & 2;
  const Region* r = number == SIGSEGV || number == SIGBUS ? region_of(info->si_addr) : nullptr;
  const char* verb = write_access ? "writes" : "reads";
  char* address = (char*)info->si_addr;
  if (!in_kernel) {
    if (r) fault("host_access", "host code %s %s outside a kernel", verb, r->name.c_str());
    fault("crash", "host code of the candidate died of signal %d (%s)", number, strsignal(number));
  }
  kv_uint3 b = kv_block_idx, t = kv_thread_idx;
  const char* kernel = current_kernel->name.c_str();
  if (r && address >= r->pages && address < r->pages + r->page_bytes)
    fault("input_modified", "kernel %s writes %s in block (%u,%u,%u), work-item (%u,%u,%u)", kernel, r->name.c_str(), b.x,
          b.y, b.z, t.x, t.y, t.z);
  if (r) {
    bool before = address < r->data;
    size_t distance = before ? r->data - address : address - (r->data + r->bytes) + 1;
    fault("out_of_bounds", "kernel %s %s %s %zu bytes %s in block (%u,%u,%u), work-item (%u,%u,%u)", kernel, verb,
          r->name.c_str(), distance, before ? "before its start" : "past its end", b.x, b.y, b.z, t.x, t.y, t.z);
  }
  if (address >= current_lds.dynamic && address < current_lds.dynamic + kLdsBuffer)
    fault("out_of_bounds", "kernel %s %s dynamic LDS %zu bytes past the %zu it was launched with in block (%u,%u,%u), "
          "work-item (%u,%u,%u)", kernel, verb, (size_t)(address - current_lds.dynamic) - current_lds_bytes + 1,
          current_lds_bytes, b.x, b.y, b.z, t.x, t.y, t.z);
  fault("crash", "kernel %s died of signal %d (%s) at address %p in block (%u,%u,%u), work-item (%u,%u,%u)", kernel,
        number, strsignal(number), info->si_addr, b.x, b.y, b.z, t.x, t.y, t.z);
}

static void install_handlers() {
  static char stack[64 << 10];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(number, &action, nullptr);
  struct sigaction deadline {};
  deadline.sa_handler = on_deadline;
  deadline.sa_flags = SA_ONSTACK;
  for (int number : {SIGXCPU, SIGALRM}) sigaction(number, &deadline, nullptr);
}

static void* open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) fault("unsupported", "%s", dlerror());
  return library;
}

static int main(int argc, char** argv) {
  if (argc != 7) return 2;
  std::string out = std::string(argv[4]) + "/";
  report_fd = open((out + "report").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  noop_replay = !strcmp(argv[5], "noop");
  std::vector<CallInfo> calls = read_job(argv[1]);
  install_handlers();
  alarm((unsigned)atoi(argv[6]));
  device_library = open_library(argv[2]);
  void* host = open_library(argv[3]);
  auto launch = (Launch)dlsym(host, "kv_launch");
  if (!launch) fault("missing_kv_launch", "the library exports no kv_launch");
  auto workspace_size = (WorkspaceSize)dlsym(host, "kv_workspace_size");
  std::string inputs_folder = folder_of(argv[1]);
  for (size_t c = 0; c < calls.size(); ++c) {
    current_call = (int)c;
    unsigned long long before = launches;
    auto first = run_once(calls[c], launch, workspace_size, inputs_folder);
    unsigned long long made = launches - before;
    bool same = noop_replay || first == run_once(calls[c], launch, workspace_size, inputs_folder);
    for (size_t o = 0; o < first.size(); ++o)
      store(out + std::to_string(c) + "_" + std::to_string(o) + ".bin", first[o]);
    report("result %zu %d %llu", c, (int)same, made);
  }
  report("fact launches %llu", launches);
  report("fact work_items %llu", work_items);
  report("fact lds_bytes_max %llu", lds_bytes_max);
  report("done");
  _exit(0);  // destructors of the candidate have nothing to add
}

}  // namespace kv

// Module destructors of the candidate are never run: the runner leaves by _exit.
extern "C" int atexit(void (*)(void)) { return 0; }

int main(int argc, char** argv) { return kv::main(argc, argv); }
