#if LEVELDB
  import CLevelDB
  import CReference
  import Foundation

  /// LevelDB through its C API: every write reaches the system's page cache, unsynchronized. Uses a block cache and
  /// Bloom filters, as its documentation advises for point reads.
  final class LevelDBStore: DiskSubject {
    private let database: OpaquePointer
    private let options: OpaquePointer
    private let cache = leveldb_cache_create_lru(64 << 20)
    private let filter = leveldb_filterpolicy_create_bloom(10)
    private let reading = leveldb_readoptions_create()
    private let writing = leveldb_writeoptions_create()
    private let buffer: UnsafeMutableRawBufferPointer

    init(_ directory: URL, _ valueSize: Int) throws {
      guard let options = leveldb_options_create() else { throw WorkloadError("LevelDB has no options.") }
      self.options = options
      leveldb_options_set_create_if_missing(options, 1)
      leveldb_options_set_cache(options, cache)
      leveldb_options_set_filter_policy(options, filter)
      let path = directory.appendingPathComponent("leveldb").path
      var error: UnsafeMutablePointer<CChar>?
      let opened = leveldb_open(options, path, &error)
      try check(error)
      guard let opened else { throw WorkloadError("LevelDB opened nothing.") }
      database = opened
      buffer = .allocate(byteCount: valueSize, alignment: 16)
    }

    deinit {
      leveldb_readoptions_destroy(reading)
      leveldb_writeoptions_destroy(writing)
      leveldb_options_destroy(options)
      leveldb_cache_destroy(cache)
      leveldb_filterpolicy_destroy(filter)
      buffer.deallocate()
    }

    func set(_ keys: KeyList, _ value: Data) throws {
      try value.withUnsafeBytes { (value: UnsafeRawBufferPointer) in
        let text = value.baseAddress?.assumingMemoryBound(to: CChar.self)
        for key in keys.raw {
          var error: UnsafeMutablePointer<CChar>?
          leveldb_put(database, writing, key.text, key.count, text, value.count, &error)
          try check(error)
        }
      }
    }

    func set(_ keys: KeyList, _ value: Data, inBatchesOf size: Int) throws {
      let batch = leveldb_writebatch_create()
      defer { leveldb_writebatch_destroy(batch) }
      try value.withUnsafeBytes { (value: UnsafeRawBufferPointer) in
        let text = value.baseAddress?.assumingMemoryBound(to: CChar.self)
        for start in stride(from: 0, to: keys.count, by: size) {
          leveldb_writebatch_clear(batch)
          for key in keys.raw[start..<min(start + size, keys.count)] {
            leveldb_writebatch_put(batch, key.text, key.count, text, value.count)
          }
          var error: UnsafeMutablePointer<CChar>?
          leveldb_write(database, writing, batch, &error)
          try check(error)
        }
      }
    }

    func get(_ keys: KeyList) throws {
      for key in keys.raw {
        var error: UnsafeMutablePointer<CChar>?
        var count = 0
        let value = leveldb_get(database, reading, key.text, key.count, &count, &error)
        try check(error)
        guard let value, count == buffer.count else { throw WorkloadError("LevelDB lost a value.") }
        leveldb_free(value)
      }
    }

    func getMissing(_ keys: KeyList) throws {
      for key in keys.raw {
        var error: UnsafeMutablePointer<CChar>?
        var count = 0
        let value = leveldb_get(database, reading, key.text, key.count, &count, &error)
        try check(error)
        guard value == nil else { throw WorkloadError("LevelDB has what was not set.") }
      }
    }

    func value(_ keys: KeyList, at place: Int) throws -> Data? {
      let key = keys.raw[place]
      var error: UnsafeMutablePointer<CChar>?
      var count = 0
      let value = leveldb_get(database, reading, key.text, key.count, &count, &error)
      try check(error)
      defer { leveldb_free(value) }
      return value.map { Data(bytes: $0, count: count) }
    }

    func remove(_ keys: KeyList) throws {
      for key in keys.raw {
        var error: UnsafeMutablePointer<CChar>?
        leveldb_delete(database, writing, key.text, key.count, &error)
        try check(error)
      }
    }

    func settle() { leveldb_compact_range(database, nil, 0, nil, 0) }

    func close() { leveldb_close(database) }
  }

  private func check(_ error: UnsafeMutablePointer<CChar>?) throws {
    guard let error else { return }
    defer { leveldb_free(error) }
    throw WorkloadError("LevelDB: \(String(cString: error))")
  }
#endif
