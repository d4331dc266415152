# The blocks of Swift in README.md and in the documentation articles, as sources of the target DocumentationTests; those of
# Integrations/README.md as sources of the one there. To be sourced.
#
# A block becomes a function, with what Tests/DocumentationTests/Surroundings.swift declares in reach. One with `import`
# lines has these above it and no others: whoever copies it has to get on with them. Every other one imports Foundation, the
# cache and the module that the article is of. One with an extension, a protocol or a property wrapper stays at the top of
# its file, and the other documents see what it declares. Errors are reported at the lines of the document. Code that is
# not to be compiled has another language than `swift` after its fence, or none.

blocks=Tests/DocumentationTests/Blocks

# They need every trait, and go stale: they are there while they are built only.
remove_blocks() { rm -rf "$blocks" "Integrations/$blocks"; }

extract_blocks() {
  extract_blocks_of "$blocks" README.md Sources
  extract_blocks_of "Integrations/$blocks" Integrations/README.md
}

# extract_blocks_of FOLDER DOCUMENT…
extract_blocks_of() {
  local document module count blocks=$1
  shift
  rm -rf "$blocks"
  mkdir -p "$blocks"
  find "$@" -name README.md -o -path '*.docc/*.md' | sort | while IFS= read -r document; do
    module=$(printf '%s' "$document" | sed -n 's|^Sources/\([^/]*\)/.*|\1|p')
    awk -v module="${module:-LMDBCaching}" -v document="$PWD/$document" -v prefix="$blocks/$(printf '%s' "${document%.md}" | tr -c 'A-Za-z0-9' _)" '
      function flush_block() {
        number += 1
        file = sprintf("%s_%d.swift", prefix, number)
        place = sprintf("#sourceLocation(file: \"%s\", line: %d)\n", document, start)
        name = file
        gsub(/.*\//, "", name)
        sub(/\.swift$/, "", name)
        head = imports == "" ? "import Foundation\nimport LMDBCaching\nimport " module "\n" : imports
        if (is_top_level) {
          printf "%s%s%s", head, place, block > file
        } else {
          # Only where something is awaited: an asynchronous function prefers asynchronous overloads.
          effects = is_asynchronous ? "async throws" : "throws"
          printf "%sfunc %s(_ cache: ExampleCache) %s {\n%s%s#sourceLocation()\n}\n", head, name, effects, place, block > file
        }
        close(file)
      }
      !inside && /^[ \t]*```swift[ \t]*$/ {
        inside = 1; start = NR + 1; block = ""; imports = ""; is_top_level = 0; is_asynchronous = 0
        next
      }
      inside && /^[ \t]*```[ \t]*$/ { inside = 0; flush_block(); next }
      inside && /^import / { imports = imports $0 "\n"; block = block "\n"; next }
      inside {
        if ($0 ~ /^(public )?(extension|protocol) / || $0 ~ /^@propertyWrapper/) is_top_level = 1
        if ($0 ~ /(^|[^A-Za-z])await[^A-Za-z]/) is_asynchronous = 1
        block = block $0 "\n"
      }
      END { if (inside) { print document ": the last block does not end" > "/dev/stderr"; exit 1 } }
    ' "$document"
  done
  count=$(find "$blocks" -name '*.swift' | wc -l)
  if [ "$count" -eq 0 ]; then
    echo 'There is no block of Swift in the documentation, which cannot be.' >&2
    return 1
  fi
  echo "$count blocks of Swift in $*"
}
