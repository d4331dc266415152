# Runs tests built for the thread sanitizer. Source this file.

# prepare_thread_sanitizer DIRECTORY: builds the preloaded library there, and checks with a small program that it
# reports a race but not a lock. Sets `thread_sanitizer` to the environment of the tests.
prepare_thread_sanitizer() {
  local directory=$1 report=$1/race.log
  # The first report ends and fails the run.
  thread_sanitizer=("TSAN_OPTIONS=halt_on_error=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}")
  if [ "$(uname -s)" = Linux ]; then
    clang -O1 -shared -fPIC -o "$directory/tsan-locks.so" Scripts/lib/tsan-locks.c -ldl
    thread_sanitizer+=("LD_PRELOAD=$directory/tsan-locks.so")
  fi
  swiftc -swift-version 6 -warnings-as-errors -sanitize=thread -o "$directory/race" Scripts/lib/race.swift
  if env "${thread_sanitizer[@]}" "$directory/race" >"$report" 2>&1 \
    || ! grep -q '^WARNING: ThreadSanitizer: .* race' "$report"; then
    cat "$report"
    printf 'The thread sanitizer does not find a race.\n' >&2
    return 1
  fi
  if ! env "${thread_sanitizer[@]}" "$directory/race" locked >"$report" 2>&1; then
    cat "$report"
    printf 'The thread sanitizer takes a lock for a race.\n' >&2
    return 1
  fi
}
