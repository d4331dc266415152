#if ROCKSDB
  import CReference
  import CRocksDB
  import Foundation

  /// RocksDB through its C API: every write reaches the system's page cache, unsynchronized. Uses a block cache and
  /// Bloom filters, as its tuning guide advises for point reads.
  final class RocksDBStore: DiskSubject {
    private let database: OpaquePointer
    private let options: OpaquePointer
    private let reading = rocksdb_readoptions_create()
    private let writing = rocksdb_writeoptions_create()
    private let buffer: UnsafeMutableRawBufferPointer

    init(_ directory: URL, _ valueSize: Int) throws {
      guard let options = rocksdb_options_create() else { throw WorkloadError("RocksDB has no options.") }
      self.options = options
      rocksdb_options_set_create_if_missing(options, 1)
      let table = rocksdb_block_based_options_create()
      let cache = rocksdb_cache_create_lru(64 << 20)
      rocksdb_block_based_options_set_block_cache(table, cache)
      rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom(10))
      rocksdb_options_set_block_based_table_factory(options, table)
      rocksdb_block_based_options_destroy(table)
      rocksdb_cache_destroy(cache)
      let path = directory.appendingPathComponent("rocksdb").path
      var error: UnsafeMutablePointer<CChar>?
      let opened = rocksdb_open(options, path, &error)
      try check(error)
      guard let opened else { throw WorkloadError("RocksDB opened nothing.") }
      database = opened
      buffer = .allocate(byteCount: valueSize, alignment: 16)
    }

    deinit {
      rocksdb_readoptions_destroy(reading)
      rocksdb_writeoptions_destroy(writing)
      rocksdb_options_destroy(options)
      buffer.deallocate()
    }

    func set(_ keys: KeyList, _ value: Data) throws {
      try value.withUnsafeBytes { (value: UnsafeRawBufferPointer) in
        let text = value.baseAddress?.assumingMemoryBound(to: CChar.self)
        for key in keys.raw {
          var error: UnsafeMutablePointer<CChar>?
          rocksdb_put(database, writing, key.text, key.count, text, value.count, &error)
          try check(error)
        }
      }
    }

    func set(_ keys: KeyList, _ value: Data, inBatchesOf size: Int) throws {
      let batch = rocksdb_writebatch_create()
      defer { rocksdb_writebatch_destroy(batch) }
      try value.withUnsafeBytes { (value: UnsafeRawBufferPointer) in
        let text = value.baseAddress?.assumingMemoryBound(to: CChar.self)
        for start in stride(from: 0, to: keys.count, by: size) {
          rocksdb_writebatch_clear(batch)
          for key in keys.raw[start..<min(start + size, keys.count)] {
            rocksdb_writebatch_put(batch, key.text, key.count, text, value.count)
          }
          var error: UnsafeMutablePointer<CChar>?
          rocksdb_write(database, writing, batch, &error)
          try check(error)
        }
      }
    }

    func get(_ keys: KeyList) throws {
      for key in keys.raw {
        var error: UnsafeMutablePointer<CChar>?
        let value = rocksdb_get_pinned(database, reading, key.text, key.count, &error)
        try check(error)
        var count = 0
        let bytes = rocksdb_pinnableslice_value(value, &count)
        guard let bytes, count == buffer.count else { throw WorkloadError("RocksDB lost a value.") }
        buffer.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: count))
        rocksdb_pinnableslice_destroy(value)
      }
    }

    func getMissing(_ keys: KeyList) throws {
      for key in keys.raw {
        var error: UnsafeMutablePointer<CChar>?
        let value = rocksdb_get_pinned(database, reading, key.text, key.count, &error)
        try check(error)
        guard value == nil else { throw WorkloadError("RocksDB has what was not set.") }
      }
    }

    func value(_ keys: KeyList, at place: Int) throws -> Data? {
      let key = keys.raw[place]
      var error: UnsafeMutablePointer<CChar>?
      var count = 0
      let value = rocksdb_get(database, reading, key.text, key.count, &count, &error)
      try check(error)
      defer { rocksdb_free(value) }
      return value.map { Data(bytes: $0, count: count) }
    }

    func remove(_ keys: KeyList) throws {
      for key in keys.raw {
        var error: UnsafeMutablePointer<CChar>?
        rocksdb_delete(database, writing, key.text, key.count, &error)
        try check(error)
      }
    }

    func settle() throws {
      let flush = rocksdb_flushoptions_create()
      defer { rocksdb_flushoptions_destroy(flush) }
      var error: UnsafeMutablePointer<CChar>?
      rocksdb_flush(database, flush, &error)
      try check(error)
      rocksdb_compact_range(database, nil, 0, nil, 0)
    }

    func close() { rocksdb_close(database) }
  }

  private func check(_ error: UnsafeMutablePointer<CChar>?) throws {
    guard let error else { return }
    defer { rocksdb_free(error) }
    throw WorkloadError("RocksDB: \(String(cString: error))")
  }
#endif
