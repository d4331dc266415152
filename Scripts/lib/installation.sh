# Tries Scripts/install. Source this file after packages.sh.

# check_installation PREFIX: installs the tool that was built for the tests, checks its completions and manual pages, and
# uninstalls it.
check_installation() {
  local prefix=$1 page complaints left
  swift_build "${tests[@]}" --product generate-manual
  Scripts/install --prefix "$prefix" --built .build-test/debug
  # Over an earlier installation with a file that no longer exists.
  : >"$prefix/share/lmdb-cache/former"
  printf 'share/lmdb-cache/former\n' >>"$prefix/share/lmdb-cache/installed"
  Scripts/install --prefix "$prefix" --built .build-test/debug >/dev/null
  [ ! -e "$prefix/share/lmdb-cache/former" ] || { echo 'A file of the earlier version is left.' >&2; exit 1; }
  "$prefix/bin/lmdb-cache" --version
  bash -n "$prefix/share/bash-completion/completions/lmdb-cache"
  if command -v fish >/dev/null; then fish -n "$prefix/share/fish/vendor_completions.d/lmdb-cache.fish"; fi
  if command -v zsh >/dev/null; then
    zsh -n "$prefix/share/lmdb-cache/completions.zsh"
    zsh -n "$prefix/share/zsh/site-functions/_lmdb-cache"
  fi
  if [ "$(uname -s)" = Linux ] && command -v man >/dev/null; then
    for page in "$prefix"/share/man/man1/*.1; do
      # man fails for a page, or warns.
      complaints=$(man -l "$page" 2>&1 >/dev/null) || complaints="cannot be set: $complaints"
      [ -z "$complaints" ] || { printf '%s: %s\n' "$page" "$complaints" >&2; exit 1; }
    done
  fi
  Scripts/install --prefix "$prefix" --uninstall
  left=$(find "$prefix" -mindepth 1)
  [ -z "$left" ] || { printf 'Left behind:\n%s\n' "$left" >&2; exit 1; }
}
