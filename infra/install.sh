#!/usr/bin/env bash
# Installs kernelvault into ./.venv, and the system packages it needs where it may. Safe to repeat:
# what is already there is left alone. Settings, all optional:
#   PYTHON                   the interpreter to build the environment with (3.11 or 3.12)
#   KERNELVAULT_TORCH_INDEX  a package index that offers CPU builds of PyTorch
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv
packages=(clang-22 lld-22 llvm-22 clang-tools-22 libclang-rt-22-dev bubblewrap g++ libseccomp2 docker.io)
need_disk_gb=6
need_memory_gb=4

say() { printf 'install: %s\n' "$*"; }
fail() {
  printf 'install: %s\n  next step: %s\n' "$1" "$2" >&2
  exit 3
}

stamp() { cat pyproject.toml constraints.txt infra/install.sh | sha256sum | cut -c1-32; }

check_machine() {
  local disk memory
  disk=$(df -Pk . | awk 'NR == 2 {print int($4 / 1048576)}')
  [ "$disk" -ge "$need_disk_gb" ] ||
    fail "$disk GB are free here, the environment and caches need $need_disk_gb GB" "free space, or clone elsewhere"
  memory=$(awk '/MemTotal/ {print int($2 / 1048576 + 0.5)}' /proc/meminfo)
  [ "$memory" -ge "$need_memory_gb" ] ||
    fail "this machine has $memory GB of memory, $need_memory_gb GB are needed" "use a larger machine"
}

# Packages whose program is not there yet. A ROCm installation brings its own compiler.
missing_packages() {
  local package
  for package in "${packages[@]}"; do
    case $package in
      bubblewrap) command -v bwrap >/dev/null ;;
      g++) command -v g++ >/dev/null ;;
      libseccomp2) ldconfig -p | grep -q 'libseccomp\.so\.2' ;;
      docker.io) command -v dockerd >/dev/null ;;
      *) [ -n "${ROCM_PATH:-}" ] || [ -d /opt/rocm ] || dpkg -s "$package" >/dev/null 2>&1 ;;
    esac || printf '%s ' "$package"
  done
}

install_system_packages() {
  local missing
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  local command="apt-get install --no-install-recommends $missing"
  if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
    say "not installed: $missing"
    say "  next step: as root, '$command' (Debian, or apt.llvm.org for LLVM 22), or install ROCm and set ROCM_PATH;"
    say "  everything but compiling and running kernels works without them"
    return 0
  fi
  say "system packages: $missing"
  apt-get update -qq || say "apt-get update failed; trying with the lists that are there"
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
    say "apt-get could not install them all; 'kernelvault doctor' says what is missing"
}

find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3.11 python3.12 python3; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null; then
      printf '%s' "$candidate"
      return 0
    fi
  done
  return 1
}

# pip repeats one warning for every package when a configured folder of wheels does not exist.
pip_install() {
  "$venv/bin/python" -m pip install -q --disable-pip-version-check -c constraints.txt "$@" \
    2> >(grep -v "^WARNING: Location .* is ignored" >&2)
}

main() {
  if [ -f "$venv/.installed-$(stamp)" ]; then
    install_system_packages
    return 0
  fi
  local started=$SECONDS python
  check_machine
  install_system_packages
  python=$(find_python) || fail "no Python 3.11 or 3.12 was found" "install one, or name it: make install PYTHON=/path/to/python3.11"
  say "environment $venv with $("$python" --version), about 3 GB; this takes 2 to 5 minutes"
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
  say "PyTorch and Triton"
  pip_install ${KERNELVAULT_TORCH_INDEX:+--extra-index-url "$KERNELVAULT_TORCH_INDEX"} torch==2.13.0 triton==3.7.1
  say "kernelvault and what it builds on"
  pip_install -e '.[dev]'
  rm -f "$venv"/.installed-*
  touch "$venv/.installed-$(stamp)"
  say "done in $((SECONDS - started)) s"
}

main
