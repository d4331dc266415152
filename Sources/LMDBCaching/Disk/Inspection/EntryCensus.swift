import Foundation
import Platform

/// What a cache's entries add up to: by the beginnings of their keys, by their formats, sizes and ages.
///
/// Memory: that of the groups that are kept, whatever there is.
package struct EntryCensus: Sendable {
  /// Entries that have something in common.
  package struct Group: Sendable, Equatable {
    package var entries = 0
    /// Of their values.
    package var bytes = 0
    package var cost = 0

    mutating func add(_ entry: CacheEntry) {
      entries += 1
      bytes = bytes.addingClamped(entry.size)
      cost = cost.addingClamped(entry.cost)
    }

    mutating func add(_ other: Group) {
      entries = entries.addingClamped(other.entries)
      bytes = bytes.addingClamped(other.bytes)
      cost = cost.addingClamped(other.cost)
    }
  }

  /// Entries whose keys begin alike.
  package struct PrefixGroup: Sendable, Equatable {
    /// With the separator that it ends with; empty for keys without one.
    package var prefix: String
    package var group: Group
  }

  /// A part of a histogram.
  package struct Bucket: Sendable, Equatable {
    /// The greatest number that is counted here; `nil` for the last part.
    package let limit: Int?
    package var group = Group()
  }

  package private(set) var total = Group()
  package private(set) var formats: [ArchiveFormat: Group] = [:]
  /// By the bytes of a value.
  package private(set) var sizes = Self.buckets(sizeLimits)
  /// By the seconds since it was written, and since it was read last, as far as that is recorded.
  package private(set) var ages = Self.buckets(ageLimits)
  package private(set) var idleTimes = Self.buckets(ageLimits)
  /// Those with the most bytes, largest first, and what the others add up to. Known when all entries are.
  package private(set) var prefixes: [PrefixGroup] = []
  package private(set) var otherPrefixes = Group()
  package private(set) var otherPrefixCount = 0

  private let depth: Int
  private let greatestPrefixes: Int
  /// Seconds since 1970.
  private let now: Double
  /// The beginnings of the last key, each of which begins with the one before; the first one is empty. The entries come in
  /// the order of their keys, so that the others are complete.
  private var open: [PrefixGroup] = [PrefixGroup(prefix: "", group: Group())]
  private var complete: [ByteKey: Group] = [:]

  private static let sizeLimits = [0, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20]
  private static let ageLimits = [60, 3_600, 86_400, 7 * 86_400, 30 * 86_400, 365 * 86_400]
  /// A separator that is further behind is part of a key's name.
  private static let greatestPrefix = 256

  /// - Parameters:
  ///   - depth: How many parts of a key its beginning has; a part ends with `:` or `/`.
  ///   - greatestPrefixes: How many beginnings are kept.
  init(depth: Int, greatestPrefixes: Int, at now: Date) {
    self.depth = max(0, depth)
    self.greatestPrefixes = max(1, greatestPrefixes)
    self.now = now.timeIntervalSince1970
  }

  private static func buckets(_ limits: [Int]) -> [Bucket] { limits.map { Bucket(limit: $0) } + [Bucket(limit: nil)] }

  mutating func add(_ entry: CacheEntry) {
    total.add(entry)
    formats[entry.format, default: Group()].add(entry)
    Self.add(entry, entry.size, to: &sizes)
    Self.add(entry, seconds(since: entry.created), to: &ages)
    Self.add(entry, seconds(since: entry.lastAccess), to: &idleTimes)
    addToPrefix(entry)
  }

  /// A clock that was set back makes entries of the future.
  private func seconds(since date: Date) -> Int { Int(max(0, min(1e12, now - date.timeIntervalSince1970))) }

  private static func add(_ entry: CacheEntry, _ number: Int, to buckets: inout [Bucket]) {
    let index = buckets.firstIndex { $0.limit.map { number <= $0 } ?? true } ?? buckets.count - 1
    buckets[index].group.add(entry)
  }

  // MARK: Prefixes

  private mutating func addToPrefix(_ entry: CacheEntry) {
    let key = entry.key.utf8
    while open.count > 1, !key.starts(with: open[open.count - 1].prefix.utf8) { close() }
    var end = open[open.count - 1].prefix.utf8.count
    while open.count <= depth {
      let rest = key.prefix(Self.greatestPrefix).dropFirst(end)
      guard let separator = rest.firstIndex(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }) else {
        break
      }
      let prefix = String(decoding: key[...separator], as: UTF8.self)
      end = prefix.utf8.count
      open.append(PrefixGroup(prefix: prefix, group: Group()))
    }
    open[open.count - 1].group.add(entry)
  }

  /// The last of the open ones is complete.
  private mutating func close() {
    let last = open.removeLast()
    if last.group.entries == 0 { return }
    complete[ByteKey(last.prefix), default: Group()].add(last.group)
    if complete.count >= 2 * greatestPrefixes + 64 { forgetSmall() }
  }

  private mutating func forgetSmall() {
    let sorted = Self.sorted(complete)
    for group in sorted.dropFirst(greatestPrefixes) {
      otherPrefixes.add(group.group)
      otherPrefixCount += 1
      complete[ByteKey(group.prefix)] = nil
    }
  }

  private static func sorted(_ groups: [ByteKey: Group]) -> [PrefixGroup] {
    groups.map { PrefixGroup(prefix: $0.key.string, group: $0.value) }.sorted { first, second in
      first.group.bytes == second.group.bytes
        ? first.prefix.utf8.lexicographicallyPrecedes(second.prefix.utf8) : first.group.bytes > second.group.bytes
    }
  }

  /// After the last entry.
  mutating func end() {
    while open.count > 1 { close() }
    close()
    forgetSmall()
    prefixes = Self.sorted(complete)
    complete = [:]
  }
}
