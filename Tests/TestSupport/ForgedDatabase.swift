package import LMDB

/// Changes records of a closed cache's database with LMDB itself, like an attacker.
package enum ForgedDatabase {
  /// - Parameter change: Receives the current value or `nil`, and returns the new one; `nil` removes it.
  package static func rewrite(
    _ directory: String, _ key: [UInt8], _ change: ([UInt8]?) -> [UInt8]?
  ) throws(LMDBError) {
    var options = Environment.Options()
    options.mapSize = 64 << 20
    let environment = try Environment.open(directory: directory, options: options)
    defer { environment.close() }
    let transaction = try environment.beginWrite()
    let old = try key.withBytes { (key) throws(LMDBError) in try transaction.withValue(forKey: key) { Array($0) } }
    try key.withBytes { (key) throws(LMDBError) in
      guard let new = change(old) else {
        _ = try transaction.remove(forKey: key)
        return
      }
      try new.withBytes { (new) throws(LMDBError) in try transaction.put(new, forKey: key) }
    }
    try transaction.commit()
  }
}

extension [UInt8] {
  /// Keeps the error type, unlike the standard library's.
  fileprivate func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withUnsafeBytes { bytes -> Result<R, E> in
      do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
    }.get()
  }
}
