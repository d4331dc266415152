extension ObjectKey {
  /// Whether the bytes hold a digest instead of the type or the identifier.
  var isDigest: Bool { bytes[0] == 0xff || bytes[prefixCount] == 1 }

  /// The type and identifier in a key's bytes; `nil` if they hold a digest or are not a key.
  init?(bytes key: UnsafeRawBufferPointer) {
    guard let length = key.first.map(Int.init), length <= Self.longestType, key.count > length + 1,
      key[length + 1] == 0,
      let type = String(validating: key[1..<length + 1], as: UTF8.self),
      let identifier = String(validating: key[(length + 2)...], as: UTF8.self)
    else { return nil }
    self.init(type: type, identifier: identifier)
  }
}
