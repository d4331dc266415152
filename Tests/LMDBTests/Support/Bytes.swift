import LMDB

/// Passes a copy of the bytes to a closure with typed throws.
func withBytes<R: ~Copyable>(
  _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(LMDBError) -> R
) throws(LMDBError) -> R {
  let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
  defer { copy.deallocate() }
  copy.copyBytes(from: bytes)
  return try body(UnsafeRawBufferPointer(start: copy.baseAddress, count: bytes.count))
}

extension ReadTransaction {
  func value(_ key: [UInt8], in database: Database = .main) throws(LMDBError) -> [UInt8]? {
    try withBytes(key) { key throws(LMDBError) in
      try withValue(forKey: key, in: database) { value throws(LMDBError) in [UInt8](value) }
    }
  }

  func values(_ keys: [[UInt8]]) throws(LMDBError) -> [[UInt8]?] {
    let copies = keys.map { key in
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: key.count, alignment: 1)
      copy.copyBytes(from: key)
      return UnsafeRawBufferPointer(copy)
    }
    let found = UnsafeMutableBufferPointer<UnsafeRawBufferPointer?>.allocate(capacity: keys.count)
    found.initialize(repeating: nil)
    let pointers = UnsafeMutableBufferPointer<UnsafeRawBufferPointer>.allocate(capacity: keys.count)
    _ = pointers.initialize(from: copies)
    defer {
      for copy in copies { copy.deallocate() }
      found.deallocate()
      pointers.deallocate()
    }
    try find(UnsafeBufferPointer(pointers), found)
    return found.map { $0.map { [UInt8]($0) } }
  }

  func all() throws(LMDBError) -> [Pair] {
    try withCursor { cursor throws(LMDBError) in try cursor.all() }
  }
}

extension WriteTransaction {
  func value(_ key: [UInt8]) throws(LMDBError) -> [UInt8]? {
    try withBytes(key) { key throws(LMDBError) in
      try withValue(forKey: key) { value throws(LMDBError) in [UInt8](value) }
    }
  }

  func put(
    _ value: [UInt8], _ key: [UInt8], in database: Database = .main
  ) throws(LMDBError) {
    try withBytes(key) { key throws(LMDBError) in
      try withBytes(value) { value throws(LMDBError) in
        try put(value, forKey: key, in: database)
      }
    }
  }

  func upsert(_ value: [UInt8], _ key: [UInt8], replaces: Bool = true) throws(LMDBError) -> (Bool, old: [UInt8]?) {
    var old: [UInt8]?
    let existed = try withBytes(key) { key throws(LMDBError) in
      try upsert(
        forKey: key, size: value.count,
        existing: { bytes in
          old = [UInt8](bytes)
          return replaces
        },
        fill: { $0.copyBytes(from: value) })
    }
    return (existed, old)
  }

  func remove(_ key: [UInt8]) throws(LMDBError) -> Bool {
    try withBytes(key) { key throws(LMDBError) in try remove(forKey: key) }
  }

  func all() throws(LMDBError) -> [Pair] {
    try withCursor { cursor throws(LMDBError) in try cursor.all() }
  }
}

extension Cursor {
  func all() throws(LMDBError) -> [Pair] {
    var pairs: [Pair] = []
    var entry = try first()
    while let present = entry {
      pairs.append(Pair(present))
      entry = try next()
    }
    return pairs
  }

  func seek(_ key: [UInt8]) throws(LMDBError) -> Pair? {
    try withBytes(key) { key throws(LMDBError) in try seek(toKeyAtOrAfter: key).map(Pair.init) }
  }
}

extension Environment {
  func value(_ key: [UInt8], in database: Database = .main) throws(LMDBError) -> [UInt8]? {
    try withReadTransaction { transaction throws(LMDBError) in try transaction.value(key, in: database) }
  }

  func put(_ value: [UInt8], _ key: [UInt8]) throws(LMDBError) {
    let transaction = try beginWrite()
    try transaction.put(value, key)
    try transaction.commit()
  }
}

struct Pair: Hashable {
  var key: [UInt8]
  var value: [UInt8]

  init(_ key: [UInt8], _ value: [UInt8]) {
    self.key = key
    self.value = value
  }

  init(_ entry: Cursor.Entry) {
    key = [UInt8](entry.key)
    value = [UInt8](entry.value)
  }
}

func bytes(_ text: String) -> [UInt8] {
  Array(text.utf8)
}

func code(_ body: () throws(LMDBError) -> Void) -> LMDBError.Code? {
  do throws(LMDBError) {
    try body()
    return nil
  } catch {
    return error.code
  }
}
