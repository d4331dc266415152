extension [UInt8] {
  /// Lends the bytes, keeping the body's typed error.
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    let result = withUnsafeBytes { bytes -> Result<R, E> in
      do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}

extension [UInt8] {
  /// Whether `part` occurs anywhere in the bytes.
  func contains(_ part: [UInt8]) -> Bool {
    guard let first = part.first, part.count <= count else { return part.isEmpty }
    return withUnsafeBufferPointer { bytes in
      var start = 0
      while start <= bytes.count - part.count {
        if bytes[start] == first, bytes[start..<start + part.count].elementsEqual(part) { return true }
        start += 1
      }
      return false
    }
  }
}
