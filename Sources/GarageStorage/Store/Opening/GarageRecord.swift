import LMDB

/// The record in the main database that marks an environment as a garage's. A cache of this package has the key `FF
/// 'm'` instead, and refuses a garage.
///
///     key     FF 67 ("g")
///     value   offset  bytes
///                  0      8  "LMDBGSR1"
///                  8      4  version of the format, little-endian
///                 12      4  0
enum GarageRecord {
  static let key: [UInt8] = [0xff, UInt8(ascii: "g")]
  /// The key of a cache of this package.
  static let cacheKey: [UInt8] = [0xff, UInt8(ascii: "m")]
  static let version: UInt32 = 1
  private static let magic = Array("LMDBGSR1".utf8)

  enum Reading: Equatable {
    case current
    case newerVersion(UInt32)
    case foreign
  }

  static func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
    guard bytes.count >= 16, bytes.starts(with: magic) else { return .foreign }
    let version = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    return version == Self.version ? .current : version > Self.version ? .newerVersion(version) : .foreign
  }

  static var bytes: [UInt8] {
    magic + (0..<4).map { UInt8(truncatingIfNeeded: version >> (8 * $0)) } + [0, 0, 0, 0]
  }
}
