# The dependencies of Scripts/benchmark. Source this file after packages.sh; it prints to standard error.

# SQLite is required: GRDB is built against it.
install_sqlite() {
  if command -v dpkg-query >/dev/null && ! is_installed libsqlite3-dev; then install_debian libsqlite3-dev; fi
}

# Installs the optional stores to measure, where that is easy.
install_peers() {
  local package missing=()
  case $(uname -s) in
    Darwin)
      for package in rocksdb leveldb; do brew list --versions "$package" >/dev/null 2>&1 || missing+=("$package"); done
      if [ ${#missing[@]} -gt 0 ]; then
        brew install "${missing[@]}" >&2 || say "Measuring without: ${missing[*]}"
      fi
      ;;
    *)
      command -v dpkg-query >/dev/null || return 0
      for package in librocksdb-dev libleveldb-dev; do is_installed "$package" || missing+=("$package"); done
      # In a subshell, which exits if the superuser is unavailable.
      [ ${#missing[@]} -eq 0 ] || (install_debian "${missing[@]}") || say "Measuring without: ${missing[*]}"
      ;;
  esac
}

# Prints the optional stores that the compiler finds, separated by commas.
available_peers() {
  local peers=()
  if has_header rocksdb/c.h; then peers+=(rocksdb); fi
  if has_header leveldb/c.h; then peers+=(leveldb); fi
  (IFS=,; printf '%s\n' "${peers[*]-}")
}

has_header() { printf '#include <%s>\n' "$1" | clang -E -x c - >/dev/null 2>&1; }

# Sets `python` to one with matplotlib.
install_plotting() {
  find_plotting && return
  if command -v dpkg-query >/dev/null; then (install_debian python3-matplotlib) || true; fi
  find_plotting && return
  local environment=Benchmarks/.build/plotting
  say 'Installing matplotlib with pip …'
  if python3 -m venv "$environment" >&2 && "$environment/bin/pip" install --quiet matplotlib >&2; then
    python=$environment/bin/python
    return
  fi
  python=
  say 'There is no matplotlib: install it (apt-get install python3-matplotlib, or pip install matplotlib) for charts.'
}

find_plotting() {
  for python in python3 /usr/bin/python3 Benchmarks/.build/plotting/bin/python; do
    if "$python" -c 'import matplotlib' >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

# draw_charts JSON DIRECTORY
draw_charts() {
  if [ -z "$python" ]; then
    say 'No charts were drawn: there is no matplotlib.'
    return
  fi
  "$python" Benchmarks/charts.py "$1" "$2" >&2
}
