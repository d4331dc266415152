import Foundation

/// What a machine of a fleet did, as it is written to its history. Times are of the monotonic clock, which all processes of
/// this machine share.
struct FleetEvent: Equatable {
  enum Kind: UInt8 {
    /// A write is about to be made: whether it will be is not known.
    case begun
    case acknowledged
    /// A read, with the version that it found; 0: nothing.
    case read
    /// A thread that slept for a moment was not let on for so long: other threads of the machine may not have been, too.
    case paused
    /// What the machine had written when this began is on the server.
    case flushed
  }

  static let size = 48

  var kind: Kind
  /// Whether nothing is there after it.
  var isRemoval = false
  /// Whether a request of the machine's to the server failed meanwhile.
  var hasFailure = false
  var key: Int
  /// The writes of a key are numbered from 1.
  var version: Int
  /// When the value expires, by the wall clock; 0: never. Of a write that is about to be made at the earliest, of one that
  /// was acknowledged at the latest.
  var expires: Int64 = 0
  var start: Int64
  var end: Int64

  init(
    _ kind: Kind, key: Int, version: Int, isRemoval: Bool = false, expires: Int64 = 0, start: Int64, end: Int64
  ) {
    self.kind = kind
    self.isRemoval = isRemoval
    self.key = key
    self.version = version
    self.expires = expires
    self.start = start
    self.end = end
  }

  var bytes: [UInt8] {
    let first = Int64(kind.rawValue) | (isRemoval ? 1 : 0) << 8 | (hasFailure ? 1 : 0) << 9
    return [first, Int64(key), Int64(version), expires, start, end].flatMap { word in
      withUnsafeBytes(of: word.littleEndian) { Array($0) }
    }
  }

  init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count == Self.size else { return nil }
    let words = bytes.withUnsafeBytes { bytes in
      (0..<Self.size / 8).map { Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self)) }
    }
    guard let kind = Kind(rawValue: UInt8(truncatingIfNeeded: words[0])) else { return nil }
    self.init(
      kind, key: Int(words[1]), version: Int(words[2]), isRemoval: words[0] >> 8 & 1 == 1, expires: words[3],
      start: words[4], end: words[5])
    hasFailure = words[0] >> 9 & 1 == 1
  }

  /// The events of a file, up to the one that a killed process was writing.
  static func events(in path: String) -> [FleetEvent] {
    let bytes = [UInt8](FileManager.default.contents(atPath: path) ?? Data())
    return stride(from: 0, to: bytes.count / size * size, by: size).compactMap { FleetEvent(bytes[$0..<$0 + size]) }
  }
}
