import Foundation

/// An operation of a fleet's machine, as recorded in its history. Times are monotonic and shared by all processes.
struct FleetEvent: Equatable {
  enum Kind: UInt8 {
    /// A write is about to start; its outcome is unknown.
    case begun
    case acknowledged
    /// A read, with the version it found; 0 means nothing.
    case read
    /// A thread overslept by this long: the scheduler may have held up the machine's other threads too.
    case paused
    /// Everything the machine wrote before this event began is on the server.
    case flushed
  }

  static let size = 48

  var kind: Kind
  var isRemoval = false
  /// Whether one of the machine's requests to the server failed in between.
  var hasFailure = false
  var key: Int
  /// Writes of a key are numbered from 1.
  var version: Int
  /// Wall-clock expiry; 0 means never. The earliest time for `begun`, the latest for `acknowledged`.
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

  /// The events of a file. Ignores the partial last one of a killed process.
  static func events(in path: String) -> [FleetEvent] {
    let bytes = [UInt8](FileManager.default.contents(atPath: path) ?? Data())
    return stride(from: 0, to: bytes.count / size * size, by: size).compactMap { FleetEvent(bytes[$0..<$0 + size]) }
  }
}
