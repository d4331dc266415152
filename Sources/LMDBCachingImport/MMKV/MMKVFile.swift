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
