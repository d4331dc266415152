extension StoredRecord {
  /// A record is a version, flags, the sync status and a zero; the lengths (32 bits, little-endian) and UTF-8 of the
  /// type's name and the identifier if the key holds only digests of them; and the content.
  private static let version: UInt8 = 1
  private static let encrypted: UInt8 = 1
  private static let named: UInt8 = 2
  private static let headerSize = 4

  func bytes(for key: ObjectKey) -> [UInt8] {
    var flags: UInt8 = isEncrypted ? Self.encrypted : 0
    if key.isDigest { flags |= Self.named }
    var bytes = [Self.version, flags, UInt8(status.rawValue), 0]
    if key.isDigest {
      for text in [key.type, key.identifier] {
        for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: text.utf8.count >> shift)) }
      }
      bytes.append(contentsOf: key.type.utf8)
      bytes.append(contentsOf: key.identifier.utf8)
    }
    bytes.append(contentsOf: content)
    return bytes
  }

  static func status(in bytes: UnsafeRawBufferPointer) -> SyncStatus? {
    guard bytes.count >= headerSize, bytes[0] == version else { return nil }
    return SyncStatus(rawValue: Int(bytes[2]))
  }

  static func set(_ status: SyncStatus, in bytes: inout [UInt8]) { bytes[2] = UInt8(status.rawValue) }

  /// - Parameter key: The record's key.
  /// - Returns: `nil` if the record is damaged or does not belong to the key.
  static func parse(_ bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> (ObjectKey, StoredRecord)? {
    guard let status = status(in: bytes) else { return nil }
    var rest = bytes[headerSize...]
    var names: (type: String, identifier: String)?
    if bytes[1] & named != 0 {
      guard rest.count >= 8 else { return nil }
      func length(_ offset: Int) -> Int {
        (0..<4).reduce(0) { $0 | Int(rest[rest.startIndex + offset + $1]) << (8 * $1) }
      }
      let (type, identifier) = (length(0), length(4))
      rest = rest.dropFirst(8)
      guard rest.count >= type + identifier,
        let first = String(validating: rest.prefix(type), as: UTF8.self),
        let second = String(validating: rest.dropFirst(type).prefix(identifier), as: UTF8.self)
      else { return nil }
      names = (first, second)
      rest = rest.dropFirst(type + identifier)
    }
    guard let found = names.map({ ObjectKey(type: $0.type, identifier: $0.identifier) }) ?? ObjectKey(bytes: key),
      found.bytes.elementsEqual(key)
    else { return nil }
    return (found, StoredRecord(content: Array(rest), isEncrypted: bytes[1] & encrypted != 0, status: status))
  }
}
