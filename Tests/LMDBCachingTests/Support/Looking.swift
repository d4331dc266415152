import Foundation
import Testing

@testable import LMDBCaching

extension CacheDirectory {
  func reader() throws -> CacheReader { try #require(try CacheReader(directory: url)) }
}

struct SeenEntry: Equatable {
  let entry: CacheEntry
  let value: Data
}

extension CacheReader {
  /// All live entries by key. Every way of reading must agree.
  func seen(pageSize: Int = 7) throws -> [String: SeenEntry] {
    var listed: [CacheEntry] = []
    try forEachPage(pageSize: pageSize) { entries in
      listed += entries
      return true
    }
    #expect(Set(listed.map(\.key)).count == listed.count, "a key was listed twice")
    let plain = listed.map(\.key).filter { 1...511 ~= $0.utf8.count }
    #expect(plain == plain.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    var found: [String: SeenEntry] = [:]
    try forEachRecord(onDamage: { throw $0 }) { record in
      found[record.key] = SeenEntry(entry: record.entry, value: try archive(of: record))
      return true
    }
    #expect(Dictionary(uniqueKeysWithValues: listed.map { ($0.key, $0) }) == found.mapValues(\.entry))
    for (key, seen) in found {
      #expect(try entry(forKey: key) == seen.entry)
      #expect(try record(forKey: key).map { try archive(of: $0) } == seen.value)
    }
    return found
  }
}

extension LMDBCache {
  /// All live entries, read through the cache.
  func seen() throws -> [String: SeenEntry] {
    var found: [String: SeenEntry] = [:]
    for entry in try entries() {
      let value = try withBytes(forKey: entry.key) { bytes in bytes.withUnsafeBytes { Data($0) } }
      found[entry.key] = SeenEntry(entry: entry, value: try #require(value))
    }
    return found
  }
}
