import Foundation
import LMDBCaching
import Platform

/// A consistent MMKV file, verified by its checksum.
///
/// The length of the contents in four bytes, little-endian; an unused number; then alternating keys and values with
/// length prefixes. A later value replaces an earlier one, and an empty one removes it. Unused space follows the
/// contents.
struct MMKVFile {
  struct Pair {
    let key: String
    /// The value's place.
    let value: Range<Int>
  }

  private static let headerSize = 4
  private static let attempts = 5
  private static let greatestSize = 1 << 30

  let bytes: [UInt8]
  let pairs: [Pair]
  let hasExpiries: Bool
  /// Whether the last write is damaged and this is the state before it.
  let isOlderState: Bool

  init(_ path: String) throws(ImportError) {
    let (directory, name) = try SourceFile.place(path)
    if try reading(path, { () throws(SystemError) in try directory.kind(of: name) }) == .directory {
      throw try Self.directory(directory, name, path)
    }
    var failure: ImportError?
    // If a program is writing, the two files may not match for a moment.
    for attempt in 1...Self.attempts {
      let (bytes, metadata) = try Self.read(directory, name, path)
      do throws(ImportError) {
        try self.init(bytes, metadata, path)
        return
      } catch {
        failure = error
      }
      if attempt < Self.attempts { MonotonicClock.sleep(nanoseconds: 20_000_000) }
    }
    throw failure!
  }

  private static func read(
    _ directory: Directory, _ name: String, _ path: String
  ) throws(ImportError) -> ([UInt8], MMKVMetadata) {
    let (bytes, metadata) = try reading(path) { () throws(SystemError) -> ([UInt8], [UInt8]?) in
      // Read first: a write in between makes the data too long, never too short.
      let metadata = try contents(of: name + ".crc", in: directory, limit: 1 << 20)
      guard let contents = try contents(of: name, in: directory, limit: greatestSize) else {
        throw SystemError("openat", path, errno: ENOENT)
      }
      return (contents, metadata)
    }
    guard let metadata else {
      throw ImportError(
        .foreignSource,
        "\(path) has no \(name).crc beside it, which every file of MMKV has. Copy both, or give another.")
    }
    return (bytes, MMKVMetadata(metadata))
  }

  private static func contents(of name: String, in directory: Directory, limit: Int) throws(SystemError) -> [UInt8]? {
    guard let file = try directory.open(name) else { return nil }
    return try file.readToEnd(limit: limit)
  }

  /// The error for a directory.
  private static func directory(
    _ parent: Directory, _ name: String, _ path: String
  ) throws(ImportError) -> ImportError {
    let names = Set(try reading(path) { () throws(SystemError) in try parent.subdirectory(name)?.names() ?? [] })
    let files = names.filter { names.contains($0 + ".crc") }.sorted().prefix(10)
    return ImportError(
      .foreignSource,
      "\(path) is a directory. "
        + (files.isEmpty
          ? "No file of MMKV is in it, with one beside it that ends in .crc."
          : "Give one of its files: \(files.joined(separator: ", "))."))
  }

  /// - Throws: `.damagedSource`, `.encryptedSource`.
  init(_ bytes: [UInt8], _ metadata: MMKVMetadata, _ path: String) throws(ImportError) {
    let damaged = ImportError(
      .damagedSource,
      "\(path) is damaged, no file of MMKV, or being written: its checksum does not match. End the program that uses it, "
        + "or give a copy that MMKV has made.")
    guard bytes.count >= Self.headerSize else { throw damaged }
    let written = (0..<4).reduce(0) { $0 | Int(bytes[$1]) << (8 * $1) }
    func isSound(_ length: Int, _ checksum: UInt32) -> Bool {
      length <= bytes.count - Self.headerSize
        && CRC32.checksum(bytes[Self.headerSize..<Self.headerSize + length]) == checksum
    }
    let length: Int
    // MMKV's order: the metadata's length, that of an older version in this file, the last full write.
    if let known = metadata.length, isSound(known, metadata.checksum) {
      length = known
      isOlderState = false
    } else if isSound(written, metadata.checksum) {
      length = written
      isOlderState = false
    } else if let last = metadata.lastLength, last > 0, isSound(last, metadata.lastChecksum) {
      length = last
      isOlderState = true
    } else {
      throw damaged
    }
    guard let pairs = Self.pairs(bytes, Self.headerSize..<Self.headerSize + length) else {
      throw metadata.isEncryptedOnce
        ? ImportError(
          .encryptedSource, "\(path) is encrypted. Let the program that has the key take it away, by MMKV's reKey.")
        : ImportError(.encryptedSource, "\(path) is encrypted, or of a version of MMKV that is not known here.")
    }
    self.bytes = bytes
    self.pairs = pairs
    hasExpiries = metadata.hasExpiries
  }

  /// The last value of each key, in file order; `nil` if the contents are not pairs.
  private static func pairs(_ bytes: [UInt8], _ contents: Range<Int>) -> [Pair]? {
    if contents.isEmpty { return [] }
    var reader = MMKVBytes(bytes, contents)
    guard reader.number() != nil else { return nil }
    var latest: [ByteKey: Range<Int>] = [:]
    while !reader.isAtEnd {
      guard let key = reader.run() else { return nil }
      // MMKV never writes empty keys, and skips them.
      if key.isEmpty { continue }
      guard let text = String(validating: bytes[key], as: UTF8.self), let value = reader.run() else { return nil }
      latest[ByteKey(text)] = value.isEmpty ? nil : value
    }
    return latest.map { Pair(key: $0.key.string, value: $0.value) }.sorted { $0.value.lowerBound < $1.value.lowerBound }
  }
}

/// MMKV's `.crc` file. Numbers are little-endian, with 32 bits.
///
///     offset  bytes
///          0      4  CRC-32 of the contents
///          4      4  version: 1 and later have the following fields, up to 2 without and 3 with the length
///          8      4  the number of full rewrites
///         12     16  the initialization vector of an encrypted file
///         28      4  the length of the contents
///         32      8  length and CRC-32 at the last full rewrite
///         40     64  unused
///        104      8  flags, since version 4: 1 – each value ends with its expiry time
struct MMKVMetadata: Equatable {
  private static let size = 112
  /// Known versions. For later ones MMKV itself trusts only the length.
  private static let versionWithLength: UInt32 = 3
  private static let versionWithFlags: UInt32 = 4

  let checksum: UInt32
  /// The length of the contents; `nil` if stored in the file itself.
  let length: Int?
  let isEncryptedOnce: Bool
  let lastLength: Int?
  let lastChecksum: UInt32
  let hasExpiries: Bool

  /// Missing bytes are 0, as MMKV finds them after extending the file.
  init(_ bytes: [UInt8]) {
    let bytes = bytes.prefix(Self.size) + [UInt8](repeating: 0, count: max(0, Self.size - bytes.count))
    func word(_ offset: Int) -> UInt32 { (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) } }
    let version = word(4)
    checksum = word(0)
    isEncryptedOnce = version >= 2 && bytes[12..<28].contains { $0 != 0 }
    length = version >= Self.versionWithLength ? Int(word(28)) : nil
    lastLength = version >= Self.versionWithLength ? Int(word(32)) : nil
    lastChecksum = word(36)
    hasExpiries = version == Self.versionWithFlags && word(104) & 1 != 0
  }
}

/// Reads MMKV's protobuf numbers and byte runs from untrusted input.
struct MMKVBytes {
  private let bytes: [UInt8]
  private(set) var position: Int
  private let end: Int

  init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    position = range.lowerBound
    end = range.upperBound
  }

  var isAtEnd: Bool { position >= end }

  /// Reads a number, seven bits a byte, lowest first; `nil` if it does not end or exceeds 64 bits.
  mutating func number() -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: 0, to: 70, by: 7) {
      guard position < end else { return nil }
      let byte = bytes[position]
      position += 1
      if shift == 63, byte > 1 { return nil }
      value |= UInt64(byte & 0x7F) << UInt64(shift)
      if byte & 0x80 == 0 { return value }
    }
    return nil
  }

  /// The range of a length-prefixed run of bytes; `nil` if it is too long.
  mutating func run() -> Range<Int>? {
    guard let count = number(), count <= UInt64(end - position) else { return nil }
    defer { position += Int(count) }
    return position..<position + Int(count)
  }
}

/// MMKV's checksum: CRC-32 of ISO 3309, as in zlib, PNG and gzip.
enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
  }

  static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    let table = table
    return ~bytes.reduce(~0) { sum, byte in sum >> 8 ^ table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] }
  }
}
