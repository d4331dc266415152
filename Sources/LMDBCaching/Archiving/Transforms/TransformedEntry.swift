import Foundation

/// The entry's properties that transforms authenticate.
struct TransformedEntry {
  let key: String
  let utf8: UnsafeRawBufferPointer
  let format: ArchiveFormat
  /// Nanoseconds since 1970, or 0 for never.
  let expires: Int64
  let cost: Int
  /// Seconds since 1970.
  let created: UInt32
  /// The reload time, and the end of the stale period; nanoseconds since 1970, or 0.
  let refresh: Int64
  let kept: Int64
  let tags: TagHashes?

  /// The bytes to authenticate: layout version, format, expiry, cost and creation in 22 bytes, little endian; the two
  /// other times if set or if there are tags; the stored tags, if any; the number of transforms up to this one, and
  /// their identifiers; and the key.
  func authenticatedData(_ transforms: some Collection<UInt8>) -> Data {
    let hasTimes = refresh != 0 || kept != 0 || tags != nil
    var data = Data(capacity: 39 + (tags?.length ?? 0) + transforms.count + utf8.count)
    data.append(tags != nil ? 3 : hasTimes ? 2 : 1)
    data.append(format.rawValue)
    withUnsafeBytes(of: expires.littleEndian) { data.append(contentsOf: $0) }
    withUnsafeBytes(of: Int64(cost).littleEndian) { data.append(contentsOf: $0) }
    withUnsafeBytes(of: created.littleEndian) { data.append(contentsOf: $0) }
    if hasTimes {
      for time in [refresh, kept] { withUnsafeBytes(of: time.littleEndian) { data.append(contentsOf: $0) } }
    }
    if let tags { data.append(contentsOf: UnsafeRawBufferPointer(start: tags.base, count: tags.length)) }
    data.append(UInt8(transforms.count))
    data.append(contentsOf: transforms)
    data.append(contentsOf: utf8)
    return data
  }
}
