import Foundation
import Platform

/// Totals of a cache's entries by key prefix, format, size and age, in memory bounded by the number of groups kept.
package struct EntryCensus: Sendable {
  package struct Group: Sendable, Equatable {
    package var entries = 0
    /// The size of the values.
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

  /// Entries with the same prefix.
  package struct PrefixGroup: Sendable, Equatable {
    /// Ends with its separator; empty for keys without one.
    package var prefix: String
    package var group: Group
  }

  package struct Bucket: Sendable, Equatable {
    /// The greatest number counted here; `nil` for the last bucket.
    package let limit: Int?
    package var group = Group()
  }

  package private(set) var total = Group()
  package private(set) var formats: [ArchiveFormat: Group] = [:]
  /// By the values' sizes.
  package private(set) var sizes = Self.buckets(sizeLimits)
  /// By seconds since the write, and since the last recorded access.
  package private(set) var ages = Self.buckets(ageLimits)
  package private(set) var idleTimes = Self.buckets(ageLimits)
  /// The groups with the most bytes, largest first, and the total of the others. Set by ``end()``.
  package private(set) var prefixes: [PrefixGroup] = []
  package private(set) var otherPrefixes = Group()
  package private(set) var otherPrefixCount = 0

  private let depth: Int
  private let greatestPrefixes: Int
  private let now: Double
  /// The nested prefixes of the last key, starting with the empty one. Keys arrive in order, so others are complete.
  private var open: [PrefixGroup] = [PrefixGroup(prefix: "", group: Group())]
  private var complete: [ByteKey: Group] = [:]

  private static let sizeLimits = [0, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20]
  private static let ageLimits = [60, 3_600, 86_400, 7 * 86_400, 30 * 86_400, 365 * 86_400]
  /// A separator beyond this is part of the key's name.
  private static let greatestPrefix = 256

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

  /// A clock that was set back puts entries in the future.
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

  mutating func end() {
    while open.count > 1 { close() }
    close()
    forgetSmall()
    prefixes = Self.sorted(complete)
    complete = [:]
  }
}
