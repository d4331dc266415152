import Foundation
import LMDBCaching

/// The disk tier alone.
final class OwnDiskCache: DiskSubject {
  enum Reads {
    case data, bytes
    /// 64 keys at once.
    case many
  }

  private let cache: LMDBCache
  private let reads: Reads
  /// Whether a round of writes ends with the commit of the last one.
  private let commits: Bool
  private let buffer: UnsafeMutableRawBufferPointer

  init(_ directory: URL, _ valueSize: Int, reads: Reads, commits: Bool, durability: Durability) throws {
    var configuration = CacheConfiguration()
    configuration.durability = durability
    cache = try LMDBCache.diskOnly(directory: directory, configuration: configuration)
    self.reads = reads
    self.commits = commits
    buffer = .allocate(byteCount: valueSize, alignment: 16)
  }

  deinit { buffer.deallocate() }

  func set(_ keys: KeyList, _ value: Data) throws {
    for key in keys.strings { try cache.set(value, forKey: key) }
    if commits { _ = try cache.count }
  }

  func set(_ keys: KeyList, _ value: Data, inBatchesOf size: Int) throws {
    for start in stride(from: 0, to: keys.count, by: size) {
      try cache.write(waitsForCommit: commits) { batch in
        for key in keys.strings[start..<min(start + size, keys.count)] { batch.set(value, forKey: key) }
      }
    }
  }

  func get(_ keys: KeyList) throws {
    switch reads {
    case .data:
      for key in keys.strings {
        guard try cache.value(Data.self, forKey: key)?.count == buffer.count else { throw lost(key) }
      }
    case .bytes:
      for key in keys.strings {
        let found: Void? = try cache.withBytes(forKey: key) { bytes in
          bytes.withUnsafeBytes { buffer.copyMemory(from: $0) }
        }
        guard found != nil else { throw lost(key) }
      }
    case .many:
      for start in stride(from: 0, to: keys.count, by: 64) {
        let group = Array(keys.strings[start..<min(start + 64, keys.count)])
        for (key, value) in zip(group, try cache.values(Data.self, forKeys: group)) {
          guard value?.count == buffer.count else { throw lost(key) }
        }
      }
    }
  }

  func getMissing(_ keys: KeyList) throws {
    for key in keys.strings {
      guard try cache.value(Data.self, forKey: key) == nil else { throw WorkloadError("Who set \(key)?") }
    }
  }

  func value(_ keys: KeyList, at place: Int) throws -> Data? {
    try cache.value(Data.self, forKey: keys.strings[place])
  }

  func remove(_ keys: KeyList) throws {
    for key in keys.strings { try cache.removeValue(forKey: key) }
    if commits { _ = try cache.count }
  }

  func settle() throws { try cache.flush() }

  func close() throws { try cache.close() }

  private func lost(_ key: String) -> WorkloadError { WorkloadError("the cache lost \(key).") }
}

extension LMDBCache {
  /// A cache whose memory tier is off.
  static func diskOnly(
    directory: URL, configuration: CacheConfiguration = CacheConfiguration()
  ) throws(CacheError) -> LMDBCache {
    var configuration = configuration
    configuration.memory = .off
    return try LMDBCache(directory: directory, configuration: configuration)
  }
}
