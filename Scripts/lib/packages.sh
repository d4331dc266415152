# Installs missing dependencies of the build. Source this file; it prints to standard error.

say() { printf '%s\n' "$*" >&2; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    say "This needs the superuser, and there is no sudo. Run: $*"
    exit 77
  fi
}

require_swift() {
  if ! command -v swift >/dev/null; then
    say "There is no swift in PATH. Install a Swift 6.2 toolchain or a newer one from https://swift.org/install."
    exit 69
  fi
}

# Runs `swift build` with deterministic hashing. Otherwise SwiftPM passes traits in random order and rebuilds all.
swift_build() { SWIFT_DETERMINISTIC_HASHING=1 swift build "$@"; }

# The builds of Scripts/test: each has its own folder, since a change of flags rebuilds everything. No cached plans, since
# other packages and other values of LMDBCACHING_TESTS use the same folder.
strict=(--disable-build-manifest-caching -Xswiftc -warnings-as-errors)
# No debugger copies of variables: unoptimized code clears them at each call, and the thread sanitizer records it.
undebugged=(-Xswiftc -Xfrontend -Xswiftc -disable-debugger-shadow-copies)
# Whole-module builds from scratch take a third less processor time: one compiler makes a module and its interface. The
# package manager expects an object file for each source, which takes at least two threads.
whole_modules=(
  -Xswiftc -whole-module-optimization -Xswiftc -no-emit-module-separately-wmo -Xswiftc -disable-batch-mode
  -Xswiftc -num-threads -Xswiftc 2
)
# Incremental and unoptimized: the optimizer takes longer than it saves, since the tests mostly wait. Without debug
# information, which slows the compilation of macros. For the lines of a crash, use `swift test`.
tests=(
  --scratch-path .build-test --traits Compression "${strict[@]}" "${undebugged[@]}"
  -Xswiftc -gnone
)
# The other packages use this folder too, so that the libraries are built once. The path is relative to the root.
optimized=(
  --scratch-path .build-optimized --traits Compression,Encryption "${strict[@]}" "${undebugged[@]}"
  "${whole_modules[@]}" -Xswiftc -gnone
)
# With lines, since a race may not occur again.
races=(
  --sanitize=thread --scratch-path .build-tsan "${undebugged[@]}" "${whole_modules[@]}" -Xswiftc -gline-tables-only
)

# Whether a Debian package is installed: the status of a removed one is "config-files"; an unknown one has no status.
is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

install_debian() {
  say "Installing with apt-get: $*"
  as_root apt-get update -qq >&2 &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

# Installs the packages on macOS and Debian; on other systems they must already be installed.
install_missing_packages() {
  local package missing=()
  case $(uname -s) in
    Darwin)
      for package in lmdb xxhash xz hiredis redis sqlite pkgconf; do
        brew list --versions "$package" >/dev/null 2>&1 || missing+=("$package")
      done
      [ ${#missing[@]} -eq 0 ] && return
      say "Installing with Homebrew: ${missing[*]}"
      brew install "${missing[@]}" >&2
      ;;
    *)
      if command -v dpkg-query >/dev/null; then
        for package in liblmdb-dev libxxhash-dev libzstd-dev zlib1g-dev pkg-config xz-utils \
          libhiredis-dev redis-server libsqlite3-dev libsecret-1-dev dbus gnome-keyring libsecret-tools; do
          is_installed "$package" || missing+=("$package")
        done
        [ ${#missing[@]} -eq 0 ] && return
        install_debian "${missing[@]}"
      else
        for package in lmdb libxxhash libzstd hiredis sqlite3 libsecret-1; do
          pkg-config --exists "$package" || missing+=("$package")
        done
        for package in xz redis-server dbus-daemon gnome-keyring-daemon secret-tool; do
          command -v "$package" >/dev/null || missing+=("$package")
        done
        [ ${#missing[@]} -eq 0 ] && return
        say "Install the development files of: ${missing[*]}"
        exit 69
      fi
      ;;
  esac
}

# Installs a browser for the tests of the inspector's page. Without one they are skipped, with a message.
install_browser() {
  local name
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null; then return; fi
  done
  if command -v apt-get >/dev/null && (install_debian chromium) && command -v chromium >/dev/null; then return; fi
  say "There is no Chromium, and it cannot be installed here: the inspector's page is not tried in a browser."
}
