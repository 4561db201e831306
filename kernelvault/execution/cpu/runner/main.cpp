// Reads a job, loads the candidate, makes its calls and writes raw outputs and a report of lines.
// Nothing here is a verdict: the parent reads bytes and compares.
//
// usage: runner JOB OUT DEVICE_SO HOST_SO [SYMBOLS_SO]
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

typedef void* hipStream_t;
#include "../../../abi.h"
#include "runner.h"

namespace {
constexpr size_t kMaxWorkspace = size_t{1} << 30;
constexpr size_t kSignalStack = 1 << 16;
int report_fd = -1;
int call_index = -1;
double wall_limit_s;

void report(const char* text, size_t bytes) {
  while (bytes > 0) {
    ssize_t written = write(report_fd, text, bytes);
    if (written <= 0) {
      _exit(3);
    }
    text += written;
    bytes -= static_cast<size_t>(written);
  }
}

struct TensorSpec {
  int code, bits, poison;
  size_t bytes;
  std::vector<int64_t> shape, strides;
};

struct CallSpec {
  std::vector<TensorSpec> inputs, outputs;
  std::vector<std::string> files;
  std::vector<kv_scalar> scalars;
};

struct Job {
  bool noop = false;
  std::vector<CallSpec> calls;
};

[[noreturn]] void bad_job(const char* why) {
  fprintf(stderr, "runner: %s\n", why);
  exit(2);
}

TensorSpec read_tensor(FILE* file) {
  TensorSpec spec{};
  int ndim = 0;
  if (fscanf(file, "%d %d %d %zu %d", &spec.code, &spec.bits, &spec.poison, &spec.bytes, &ndim) !=
      5) {
    bad_job("the job's tensor line is malformed");
  }
  spec.shape.resize(ndim);
  spec.strides.resize(ndim);
  for (int64_t& extent : spec.shape) {
    if (fscanf(file, "%ld", &extent) != 1) {
      bad_job("the job's shape is malformed");
    }
  }
  int64_t stride = 1;
  for (int axis = ndim - 1; axis >= 0; --axis) {
    spec.strides[axis] = stride;
    stride *= spec.shape[axis] > 0 ? spec.shape[axis] : 1;
  }
  return spec;
}

kv_scalar read_scalar(FILE* file) {
  kv_scalar scalar{};
  unsigned long bits = 0;
  if (fscanf(file, "%d %lx", &scalar.tag, &bits) != 2) {
    bad_job("the job's scalar line is malformed");
  }
  memcpy(&scalar.value, &bits, sizeof bits);
  return scalar;
}

Job read_job(const char* path) {
  FILE* file = fopen(path, "r");
  if (file == nullptr) {
    bad_job("the job cannot be read");
  }
  Job job;
  char word[32], name[64];
  while (fscanf(file, "%31s", word) == 1) {
    std::string kind = word;
    if (kind == "noop") {
      job.noop = true;
    } else if (kind == "wall") {
      if (fscanf(file, "%lf", &wall_limit_s) != 1) {
        bad_job("the job's wall line is malformed");
      }
    } else if (kind == "call") {
      job.calls.emplace_back();
    } else if (job.calls.empty()) {
      bad_job("the job has a line before its first call");
    } else if (kind == "input") {
      job.calls.back().inputs.push_back(read_tensor(file));
      if (fscanf(file, "%63s", name) != 1) {
        bad_job("the job's input line is malformed");
      }
      job.calls.back().files.emplace_back(name);
    } else if (kind == "output") {
      job.calls.back().outputs.push_back(read_tensor(file));
    } else if (kind == "scalar") {
      job.calls.back().scalars.push_back(read_scalar(file));
    } else {
      bad_job("the job has an unknown line");
    }
  }
  fclose(file);
  return job;
}

void read_file(const std::string& path, char* data, size_t bytes) {
  int fd = open(path.c_str(), O_RDONLY);
  size_t done = 0;
  while (fd >= 0 && done < bytes) {
    ssize_t got = read(fd, data + done, bytes - done);
    if (got <= 0) {
      break;
    }
    done += static_cast<size_t>(got);
  }
  if (fd < 0 || done != bytes) {
    bad_job("an input file is too short");
  }
  close(fd);
}

void write_file(const std::string& path, const char* data, size_t bytes) {
  FILE* file = fopen(path.c_str(), "wb");
  if (file == nullptr || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) {
    bad_job("an output cannot be written");
  }
}

DLTensor describe(TensorSpec& spec, void* data) {
  DLTensor tensor{};
  tensor.data = data;
  tensor.device = {kDLROCM, 0};
  tensor.ndim = static_cast<int32_t>(spec.shape.size());
  tensor.dtype = {static_cast<uint8_t>(spec.code), static_cast<uint8_t>(spec.bits), 1};
  tensor.shape = spec.shape.data();
  tensor.strides = spec.strides.data();
  return tensor;
}

using LaunchFunction = int (*)(const kv_args*);
using WorkspaceFunction = size_t (*)(const kv_args*);

struct Candidate {
  LaunchFunction launch;
  WorkspaceFunction workspace_size;
};

Candidate load_candidate(char** argv) {
  load_device(argv[3]);
  if (argv[5] != nullptr && dlopen(argv[5], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    bad_job(dlerror());
  }
  void* host = dlopen(argv[4], RTLD_NOW | RTLD_LOCAL);
  if (host == nullptr) {
    fault("unsupported", "the host code uses something that is not emulated: %s", dlerror());
  }
  Candidate candidate{};
  candidate.launch = reinterpret_cast<LaunchFunction>(dlsym(host, "kv_launch"));
  candidate.workspace_size =
      reinterpret_cast<WorkspaceFunction>(dlsym(host, "kv_workspace_size"));
  if (candidate.launch == nullptr) {
    fault("missing_kv_launch", "the candidate defines no extern \"C\" int kv_launch(const kv_args*)");
  }
  return candidate;
}

void run_once(const Candidate& candidate, const kv_args& args) {
  unlock_for_harness();
  poison_writable();
  lock_all();
  counters.launches = 0;
  int code = candidate.launch(&args);
  if (code != 0) {
    fault("error_code", "kv_launch returned %d", code);
  }
  unlock_for_harness();
  check_canaries();
}

void run_call(const Candidate& candidate, CallSpec& call, bool noop, const std::string& out) {
  drop_regions(0);
  size_t count = call.inputs.size() + call.outputs.size();
  std::vector<DLTensor> tensors;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    TensorSpec& spec = call.inputs[i];
    Region* region = add_region("input " + std::to_string(i), Role::kInput, spec.bytes, 0);
    read_file("/in/" + call.files[i], region->data, spec.bytes);
    tensors.push_back(describe(spec, region->data));
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    TensorSpec& spec = call.outputs[i];
    Region* region =
        add_region("output " + std::to_string(i), Role::kOutput, spec.bytes, spec.poison);
    tensors.push_back(describe(spec, region->data));
  }
  kv_args args{};
  args.abi_version = KV_ABI_VERSION;
  args.num_inputs = static_cast<int32_t>(call.inputs.size());
  args.inputs = tensors.data();
  args.num_outputs = static_cast<int32_t>(call.outputs.size());
  args.outputs = tensors.data() + call.inputs.size();
  args.num_scalars = static_cast<int32_t>(call.scalars.size());
  args.scalars = call.scalars.data();
  args.stream = kStream;
  lock_all();
  if (candidate.workspace_size != nullptr) {
    args.workspace_bytes = candidate.workspace_size(&args);
    if (args.workspace_bytes > kMaxWorkspace) {
      fault("memory_limit", "kv_workspace_size asks for %zu bytes", args.workspace_bytes);
    }
    if (args.workspace_bytes > 0) {
      args.workspace =
          add_region("workspace", Role::kWorkspace, args.workspace_bytes, 0xFF)->data;
    }
  }
  for (int run = 0; run < (noop ? 1 : 2); ++run) {
    run_once(candidate, args);
    for (size_t i = call.inputs.size(); i < count; ++i) {
      std::string name = "o_" + std::to_string(call_index) + "_" + std::to_string(run) + "_" +
                         std::to_string(i - call.inputs.size());
      write_file(out + "/" + name, regions[i].data, regions[i].bytes);
    }
  }
}

void on_signal(int number, siginfo_t* info, void* context) {
  const char* where = running_kernel ? running_kernel : "host code";
  if (number == SIGALRM) {
    fault("timeout", "%s did not end within the time limit", where);
  }
  Dim b = kv_block_idx, t = kv_thread_idx;
  char place[160] = "";
  if (running_kernel != nullptr) {
    snprintf(place, sizeof place, " (block %u,%u,%u, thread %u,%u,%u)", b.x, b.y, b.z, t.x, t.y,
             t.z);
  }
  if (number == SIGSEGV && info->si_code > 0) {
    const char* address = static_cast<const char*>(info->si_addr);
    auto* machine = static_cast<ucontext_t*>(context);
    const char* verb = machine->uc_mcontext.gregs[REG_ERR] & 2 ? "writes" : "reads";
    Region* region = find_region(address);
    if (region != nullptr && running_kernel == nullptr) {
      fault("host_access", "host code %s %s: only kernels may touch tensors", verb,
            region->name.c_str());
    }
    if (region != nullptr && address >= region->pages &&
        address < region->pages + region->page_bytes) {
      fault("input_modified", "%s writes to %s%s", where, region->name.c_str(), place);
    }
    if (region != nullptr && address < region->data) {
      fault("out_of_bounds", "%s %s %zd bytes before the start of %s (%zu bytes)%s", where, verb,
            region->data - address, region->name.c_str(), region->bytes, place);
    }
    if (region != nullptr) {
      fault("out_of_bounds", "%s %s %zd bytes past the end of %s (%zu bytes)%s", where, verb,
            address - (region->data + region->bytes), region->name.c_str(), region->bytes, place);
    }
    if (in_fiber_guard(address)) {
      fault("crash", "%s uses more than 256 KiB of stack per work-item%s", where, place);
    }
    fault("crash", "%s %s address %p, which is no memory of its own%s", where, verb,
          info->si_addr, place);
  }
  fault("crash", "%s died of signal %s%s", where, sigabbrev_np(number), place);
}

void catch_signals() {
  static char stack[kSignalStack];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGTRAP}) {
    sigaction(number, &action, nullptr);
  }
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(wall_limit_s);
  timer.it_value.tv_usec =
      static_cast<suseconds_t>((wall_limit_s - static_cast<double>(timer.it_value.tv_sec)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}
}  // namespace

void fault(const char* kind, const char* format, ...) {
  char line[1024];
  int used = snprintf(line, sizeof line, "fault %s %d ", kind, call_index);
  va_list arguments;
  va_start(arguments, format);
  int more = vsnprintf(line + used, sizeof line - used - 1, format, arguments);
  va_end(arguments);
  size_t bytes = used + (more < 0 ? 0 : more);
  bytes = bytes < sizeof line - 1 ? bytes : sizeof line - 2;
  line[bytes] = '\n';
  report(line, bytes + 1);
  _exit(0);
}

int main(int argc, char** argv) {
  if (argc < 5) {
    bad_job("usage: runner JOB OUT DEVICE_SO HOST_SO [SYMBOLS_SO]");
  }
  std::string out = argv[2];
  report_fd = open((out + "/report").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  Job job = read_job(argv[1]);
  noop_mode = job.noop;
  regions.reserve(256);
  catch_signals();
  Candidate candidate = load_candidate(argv);
  for (CallSpec& call : job.calls) {
    ++call_index;
    run_call(candidate, call, job.noop, out);
    char line[160];
    int bytes = snprintf(line, sizeof line, "call %d %lu %lu %lu\n", call_index,
                         counters.launches, counters.work_items, counters.lds_bytes_max);
    report(line, static_cast<size_t>(bytes));
  }
  report("done\n", 5);
  // Destructors of the candidate have nothing to say any more.
  _exit(0);
}
