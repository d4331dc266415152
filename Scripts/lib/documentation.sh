# Compiles the Swift blocks of README.md and of the documentation articles unchanged. Those of Integrations/README.md
# are built in that package. Source this file.
#
# A block of README.md is a program: `run_readme` builds and runs each as a script and as the body of an asynchronous
# `@main`. A block of an article is the body of an asynchronous function; one that only declares types is a file, and
# later blocks of its article may use them. A block with `import` lines has only those imports; every other one imports
# Foundation, LMDBCaching and the module of its article. Errors are reported at the lines of the document. Code that
# should not be compiled has another language than `swift` after its fence, or none.

blocks=Tests/DocumentationTests/Blocks
programs=Tests/ReadmePrograms

# They need every trait and go stale, so they exist only while they are built.
remove_blocks() { rm -rf "$blocks" "Integrations/$blocks" "$programs"; }

extract_blocks() {
  extract_blocks_of "$blocks" "$(find Sources -path '*.docc/*.md' | sort)"
  extract_blocks_of "Integrations/$blocks" Integrations/README.md
}

# extract_blocks_of FOLDER DOCUMENTS
extract_blocks_of() {
  local document module count blocks=$1
  rm -rf "$blocks"
  mkdir -p "$blocks"
  while IFS= read -r document; do
    module=$(printf '%s' "$document" | sed -n 's|^Sources/\([^/]*\)/.*|\1|p')
    extract_document "$document" "${module:-LMDBCaching}" "$blocks/$(printf '%s' "${document%.md}" | tr -c 'A-Za-z0-9' _)"
  done <<<"$2"
  count=$(find "$blocks" -name '*.swift' | wc -l)
  if [ "$count" -eq 0 ]; then
    echo 'There is no block of Swift in the documentation, which cannot be.' >&2
    return 1
  fi
  echo "$count blocks of Swift for $blocks"
}

# extract_document DOCUMENT MODULE PREFIX: to PREFIX_1.swift and so on; without a module each is written as a program.
extract_document() {
  awk -v module="$2" -v document="$PWD/$1" -v prefix="$3" '
    function flush_block() {
      number += 1
      file = sprintf("%s_%d", prefix, number)
      name = file
      gsub(/.*\//, "", name)
      place = sprintf("#sourceLocation(file: \"%s\", line: %d)\n", document, start)
      if (module == "") {
        system("mkdir -p " file " " file "_main")
        printf "%s%s%s", imports, place, block > (file "/main.swift")
        start_of_main = "@main enum Program {\nstatic func main() async throws {\n"
        printf "%s%s%s%s#sourceLocation()\n}\n}\n", imports, start_of_main, place, block > (file "_main/Program.swift")
        return
      }
      head = imports == "" ? "import Foundation\nimport LMDBCaching\nimport " module "\n" : imports
      if (is_file) {
        printf "%s%s%s", head, place, block > (file ".swift")
      } else {
        printf "%sfunc %s() async throws {\n%s%s#sourceLocation()\n}\n", head, name, place, block > (file ".swift")
      }
      close(file ".swift")
    }
    !inside && /^[ \t]*```swift[ \t]*$/ { inside = 1; start = NR + 1; block = ""; imports = ""; is_file = 1; next }
    inside && /^[ \t]*```[ \t]*$/ { inside = 0; flush_block(); next }
    inside && /^import / { imports = imports $0 "\n"; block = block "\n"; next }
    inside {
      if ($0 !~ /^((public|final) )*(struct|class|enum|extension|protocol) |^@propertyWrapper|^[ \t})\/]|^$/) is_file = 0
      block = block $0 "\n"
    }
    END { if (inside) { print document ": the last block does not end" > "/dev/stderr"; exit 1 } }
  ' "$1"
}

# run_readme SCRATCH ARGUMENT…: builds the programs of README.md with the arguments of `swift build`, and runs each in a
# separate home directory. README.md shows their output.
run_readme() {
  local scratch=$1 home program output
  shift
  rm -rf "$programs"
  extract_document README.md '' "$programs/README"
  LMDBCACHING_README=$(basename -a "$programs"/* | tr '\n' ' ')
  export LMDBCACHING_README
  for program in $LMDBCACHING_README; do
    swift_build "$@" --product "$program" >/dev/null
    home=$(mktemp -d)
    output=$(env HOME="$home" CFFIXED_USER_HOME="$home" XDG_CACHE_HOME="$home/.cache" XDG_DATA_HOME="$home/.local/share" \
      "$scratch/debug/$program")
    rm -rf "$home"
    printf '%s: %s\n' "$program" "$output"
    grep -qxF -- "$output" <(sed -n 's|.*  // ||p' README.md)
  done
  rm -rf "$programs"
  unset LMDBCACHING_README
}
