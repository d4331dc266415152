import ArgumentParser
import LMDBCaching

struct RemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm",
    abstract: "Removes entries by their keys, or all whose keys start with a prefix or that have a tag.",
    discussion: """
      Examples:
        lmdb-cache rm user:42 user:43 --cache ./demo
        lmdb-cache rm --prefix session: --cache ./demo
        lmdb-cache rm --tag news --cache ./demo

      Exits with 1 if one of the keys was not there, or no key starts with the prefix, or no entry has the tag; the
      others are removed.

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption
  @Argument(help: "The keys.") var keys: [String] = []
  @Option(help: "Removes every entry whose key starts with this, byte for byte.") var prefix: String?

  @Option(help: "Removes every entry that was stored with this tag.") var tag: String?

  func validate() throws {
    if [!keys.isEmpty, prefix != nil, tag != nil].count(where: { $0 }) != 1 {
      throw ValidationError("Give keys, or --prefix, or --tag, and one of them only.")
    }
    if prefix == "" { throw ValidationError("Every key starts with an empty prefix; use clear.") }
  }

  func run() throws {
    let missing = try option.withExisting { cache, _ in
      if let prefix { return try remove(withPrefix: prefix, from: cache) }
      if let tag { return try remove(taggedWith: tag, from: cache) }
      return try remove(keys, from: cache)
    }
    if missing.isEmpty { return }
    for name in missing { StandardError.tell(name) }
    throw ExitStatus.negative.code
  }

  private func remove(withPrefix prefix: String, from cache: DiskCache) throws -> [String] {
    let isFound = try hasEntry(withPrefix: prefix, in: cache) { _ in true }
    guard isFound else { return ["no key starts with \(Formatting.key(prefix))"] }
    try cache.removeAll(withPrefix: prefix)
    return []
  }

  /// Stops at the first match, and loads entries in parts.
  private func hasEntry(
    withPrefix prefix: String = "", in cache: DiskCache, where condition: (CacheEntry) -> Bool
  ) throws -> Bool {
    var isFound = false
    try cache.forEachPage(withPrefix: prefix, pageSize: 1_000) { entries in
      isFound = entries.contains(where: condition)
      return !isFound
    }
    return isFound
  }

  private func remove(taggedWith tag: String, from cache: DiskCache) throws -> [String] {
    let isFound = try hasEntry(in: cache) { $0.isTagged(tag) }
    guard isFound else { return ["no entry has the tag \(Formatting.key(tag))"] }
    try cache.removeAll(taggedWith: tag)
    return []
  }

  private func remove(_ keys: [String], from cache: DiskCache) throws -> [String] {
    let missing = try keys.filter { try !cache.containsValue(forKey: $0) }
    try cache.write { batch in for key in keys { batch.removeValue(forKey: key) } }
    return missing.map { "there is no entry under \(Formatting.key($0))" }
  }
}
