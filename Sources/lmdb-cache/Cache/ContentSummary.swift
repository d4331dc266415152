import LMDBCaching

/// The output of `stat --prefixes`.
struct ContentSummary: Encodable {
  struct Prefix: Encodable {
    let prefix: String
    let entries, bytes, cost: Int
  }

  /// Prefixes that are not listed.
  struct Others: Encodable {
    let prefixes, entries, bytes, cost: Int
  }

  struct Format: Encodable {
    let format: String
    let entries, bytes, cost: Int
  }

  struct Bucket: Encodable {
    /// The bucket's upper bound, inclusive; absent in JSON for no limit.
    let upTo: Int?
    let entries, bytes: Int
  }

  let entries, bytes, cost: Int
  let prefixes: [Prefix]
  /// Absent in JSON if there are none.
  let otherPrefixes: Others?
  let formats: [Format]
  /// By value size in bytes.
  let sizes: [Bucket]
  /// By seconds since the entry was written, and since it was last read.
  let ages, idleTimes: [Bucket]

  init(_ census: EntryCensus) {
    (entries, bytes, cost) = (census.total.entries, census.total.bytes, census.total.cost)
    prefixes = census.prefixes.map {
      Prefix(prefix: $0.prefix, entries: $0.group.entries, bytes: $0.group.bytes, cost: $0.group.cost)
    }
    let others = census.otherPrefixes
    otherPrefixes =
      census.otherPrefixCount == 0
      ? nil
      : Others(
        prefixes: census.otherPrefixCount, entries: others.entries, bytes: others.bytes, cost: others.cost)
    formats = census.formats.sorted { ($1.value.bytes, $0.key.rawValue) < ($0.value.bytes, $1.key.rawValue) }.map {
      Format(format: "\($0.key)", entries: $0.value.entries, bytes: $0.value.bytes, cost: $0.value.cost)
    }
    sizes = Self.buckets(census.sizes)
    ages = Self.buckets(census.ages)
    idleTimes = Self.buckets(census.idleTimes)
  }

  private static func buckets(_ buckets: [EntryCensus.Bucket]) -> [Bucket] {
    buckets.map { Bucket(upTo: $0.limit, entries: $0.group.entries, bytes: $0.group.bytes) }
  }

  // MARK: As text

  var table: String {
    var rows = prefixes.map { prefix in
      (
        prefix.prefix.isEmpty ? "(no separator)" : Formatting.key(prefix.prefix), prefix.entries, prefix.bytes,
        prefix.cost
      )
    }
    if let otherPrefixes {
      rows.append(
        (
          "(\(Formatting.grouped(otherPrefixes.prefixes)) others)", otherPrefixes.entries, otherPrefixes.bytes,
          otherPrefixes.cost
        ))
    }
    return groups("PREFIX", rows) + groups("FORMAT", formats.map { ($0.format, $0.entries, $0.bytes, $0.cost) })
      + histogram("SIZE", sizes, Self.size) + histogram("WRITTEN", ages, Self.age)
      + histogram("LAST READ", idleTimes, Self.age)
  }

  private func groups(_ title: String, _ rows: [(name: String, entries: Int, bytes: Int, cost: Int)]) -> String {
    if rows.isEmpty { return "" }
    var table = TextTable([.left, .right, .right, .right, .right])
    table.append([title, "ENTRIES", "BYTES", "COST", "OF BYTES"])
    for row in rows {
      table.append([
        row.name, Formatting.grouped(row.entries), Formatting.grouped(row.bytes), Formatting.grouped(row.cost),
        share(row.bytes, of: bytes),
      ])
    }
    return "\n" + table.text
  }

  private func histogram(_ title: String, _ buckets: [Bucket], _ name: (Bucket) -> String) -> String {
    if entries == 0 { return "" }
    var table = TextTable([.left, .right, .right, .left])
    table.append([title, "ENTRIES", "BYTES", ""])
    for bucket in buckets {
      let bar = String(repeating: "#", count: Int((30 * Double(bucket.entries) / Double(entries)).rounded(.up)))
      table.append([
        name(bucket), Formatting.grouped(bucket.entries),
        Formatting.grouped(bucket.bytes), bar,
      ])
    }
    return "\n" + table.text
  }

  private func share(_ part: Int, of whole: Int) -> String {
    whole == 0 ? "" : Formatting.decimal(100 * Double(part) / Double(whole), places: 1) + " %"
  }

  private static func size(_ bucket: Bucket) -> String {
    guard let limit = bucket.upTo else { return "more" }
    if limit == 0 { return "empty" }
    return "to " + (limit >= 1 << 20 ? "\(limit >> 20) MiB" : limit >= 1 << 10 ? "\(limit >> 10) KiB" : "\(limit) B")
  }

  private static func age(_ bucket: Bucket) -> String {
    guard let limit = bucket.upTo else { return "longer ago" }
    let units = [(365 * 86_400, "year"), (86_400, "day"), (3_600, "hour"), (60, "minute")]
    let (seconds, unit) = units.first { limit >= $0.0 } ?? (1, "second")
    let count = limit / seconds
    return "up to \(count) \(unit)\(count == 1 ? "" : "s") ago"
  }
}
