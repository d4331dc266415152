import LMDB

extension EntryDatabase {
  /// Calls `body`, in one transaction, with each index whose key has a committed record, and the record in place.
  func withRecords(
    of numbers: [Int], _ keys: [String], _ body: (Int, StoredRecord<UnsafeRawBufferPointer>) -> Void
  ) throws(CacheError) {
    if numbers.isEmpty { return }
    try accessing("Reading entries of \(directoryName)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) -> Result<Void, CacheError> in
        let position = environment.position(of: txn)
        var start = 0
        while start < numbers.count {
          let group = numbers[start..<min(start + ReadTransaction.togetherLimit, numbers.count)]
          let result = try withDatabaseKeys(of: group, keys) { (databaseKeys) throws(LMDBError) in
            try find(databaseKeys, group, keys, position, in: txn, body)
          }
          if case .failure = result { return result }
          start = group.endIndex
        }
        return .success(())
      }
    }.get()
  }

  private func find(
    _ databaseKeys: UnsafeBufferPointer<UnsafeRawBufferPointer>, _ numbers: ArraySlice<Int>, _ keys: [String],
    _ position: UInt64, in txn: borrowing ReadTransaction, _ body: (Int, StoredRecord<UnsafeRawBufferPointer>) -> Void
  ) throws(LMDBError) -> Result<Void, CacheError> {
    // On the stack, sized to the keys.
    let room = databaseKeys.count * MemoryLayout<UnsafeRawBufferPointer?>.stride
    return try withStackBytes(room) { (bytes) throws(LMDBError) in
      let found = bytes.bindMemory(to: UnsafeRawBufferPointer?.self)
      found.initialize(repeating: nil)
      try txn.find(databaseKeys, found)
      return outcome { () throws(CacheError) in
        for (number, bytes) in zip(numbers, found) {
          guard let bytes else { continue }
          let record = try CacheKey.with(keys[number]) { (key) throws(CacheError) in
            try parse(bytes, key, position) { $0 }
          }
          if let record { body(number, record) }
        }
      }
    }
  }

  private func withDatabaseKeys<R>(
    of numbers: ArraySlice<Int>, _ keys: [String],
    _ body: (UnsafeBufferPointer<UnsafeRawBufferPointer>) throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    // Copied, because only one string's bytes are valid at a time.
    var room = 0
    for number in numbers { room += min(max(1, keys[number].utf8.count), DatabaseKey.maximumLength) }
    let table = numbers.count * MemoryLayout<UnsafeRawBufferPointer>.stride
    return try withStackBytes(table + room) { (memory) throws(LMDBError) in
      let databaseKeys = UnsafeMutableRawBufferPointer(rebasing: memory[..<table])
        .bindMemory(to: UnsafeRawBufferPointer.self)
      var rest = UnsafeMutableRawBufferPointer(rebasing: memory[table...])
      for (place, number) in numbers.enumerated() {
        let count = CacheKey.with(keys[number]) { key in
          databaseKey.withDatabaseKey(key.utf8) { bytes -> Int in
            rest.copyMemory(from: bytes)
            return bytes.count
          }
        }
        databaseKeys.initializeElement(at: place, to: UnsafeRawBufferPointer(rebasing: rest[..<count]))
        rest = UnsafeMutableRawBufferPointer(rebasing: rest[count...])
      }
      return try body(UnsafeBufferPointer(databaseKeys))
    }
  }
}
