import LMDBCaching

/// The output of `stat --prefixes`.
struct ContentSummary: Encodable {
  /// Entries with a prefix or a format, or of the prefixes that are not listed. Other names are absent in JSON.
  struct Group: Encodable {
    var prefix, format: String?
    var prefixes: Int?
    let entries, bytes, cost: Int

    init(_ group: EntryCensus.Group, prefix: String? = nil, format: String? = nil, prefixes: Int? = nil) {
      (self.prefix, self.format, self.prefixes) = (prefix, format, prefixes)
      (entries, bytes, cost) = (group.entries, group.bytes, group.cost)
    }
  }

  struct Bucket: Encodable {
    /// The bucket's upper bound, inclusive; absent in JSON for no limit.
    let upTo: Int?
    let entries, bytes: Int
  }

  let entries, bytes, cost: Int
  let prefixes: [Group]
  /// Absent in JSON if there are none.
  let otherPrefixes: Group?
  let formats: [Group]
  /// By value size in bytes.
  let sizes: [Bucket]
  /// By seconds since the entry was written, and since it was last read.
  let ages, idleTimes: [Bucket]

  init(_ census: EntryCensus) {
    (entries, bytes, cost) = (census.total.entries, census.total.bytes, census.total.cost)
    prefixes = census.prefixes.map { Group($0.group, prefix: $0.prefix) }
    let others = census.otherPrefixCount
    otherPrefixes = others == 0 ? nil : Group(census.otherPrefixes, prefixes: others)
    formats = census.formats.sorted { ($1.value.bytes, $0.key.rawValue) < ($0.value.bytes, $1.key.rawValue) }.map {
      Group($0.value, format: "\($0.key)")
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
    groups("PREFIX", prefixes + (otherPrefixes.map { [$0] } ?? [])) + groups("FORMAT", formats)
      + histogram("SIZE", sizes, Self.size) + histogram("WRITTEN", ages, Self.age)
      + histogram("LAST READ", idleTimes, Self.age)
  }

  private func groups(_ title: String, _ groups: [Group]) -> String {
    if groups.isEmpty { return "" }
    var table = TextTable([.left, .right, .right, .right, .right])
    table.append([title, "ENTRIES", "BYTES", "COST", "OF BYTES"])
    for group in groups {
      let prefix = group.prefix.map { $0.isEmpty ? "(no separator)" : Formatting.key($0) }
      let name = prefix ?? group.format ?? "(\(Formatting.grouped(group.prefixes ?? 0)) others)"
      let share = bytes == 0 ? "" : Formatting.percentage(Double(group.bytes) / Double(bytes))
      table.append([name] + [group.entries, group.bytes, group.cost].map { Formatting.grouped($0) } + [share])
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
