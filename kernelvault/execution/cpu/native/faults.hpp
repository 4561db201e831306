// The report: one line a fact, written as it happens, so that a killed run still says how far it came.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace kv {

inline int report_fd = -1;
inline int current_call = -1;

inline void report(const char* format, ...) __attribute__((format(printf, 1, 2)));
inline void report(const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  if (length > (int)sizeof line - 2) length = sizeof line - 2;
  for (int i = 0; i < length; ++i)
    if (line[i] == '\n') line[i] = ' ';
  line[length++] = '\n';
  // A short write can only mean a full /out, which the parent sees as a missing `done`.
  ssize_t written = write(report_fd, line, length);
  (void)written;
}

// A fault ends the run: whatever the candidate would do next, nothing it says counts any more.
[[noreturn]] inline void fault(const char* kind, const char* format, ...)
    __attribute__((format(printf, 2, 3)));
[[noreturn]] inline void fault(const char* kind, const char* format, ...) {
  char message[800];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  report("fault %s %d %s", kind, current_call, message);
  _exit(0);
}

}  // namespace kv
