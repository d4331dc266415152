import CBORCoding
import Foundation
import Platform

@_spi(Measuring) import LMDBCaching

/// A decoder of untrusted bytes.
package enum UntrustedKind: String, CaseIterable, Sendable {
  case cbor, graph, record, journal, metadata, statistics, json

  /// Decodes the bytes and checks the result. Ends the process on a fault. Returns whether they were decoded.
  @discardableResult
  package func check(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch self {
    case .cbor: Self.checkCBOR(bytes)
    case .graph: Self.checkObject(bytes, .objectGraph)
    case .record: Self.checkRecord(bytes)
    case .journal: Self.checkJournal(bytes)
    case .metadata: Self.check(bytes, or: UntrustedBytes.sealedMetadata(Array(bytes))) { UntrustedBytes.metadata($0) }
    case .statistics:
      Self.check(bytes, or: UntrustedBytes.sealedStatistics(Array(bytes))) { UntrustedBytes.statistics($0) }
    case .json: Self.checkJSON(bytes)
    }
  }

  private static func checkCBOR(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let isPrinted = (try? CBORDiagnostic(RawSpan(_unsafeBytes: bytes), limit: 4096)) != nil
    let isScanned = isScanned(bytes)
    precondition(
      isScanned == nil || isPrinted == isScanned, "The decoder and the notation disagree on what is well-formed.")
    let shape = round(UntrustedShape.self, bytes)
    let choices = round([UntrustedShape.Choice].self, bytes)
    let map = round([String: [Double]].self, bytes)
    let date = round([Date].self, bytes)
    let decimal = round([Decimal].self, bytes)
    let isRead = shape || choices || map || date || decimal
    precondition(!isRead || isPrinted, "A value was read that is not well-formed.")
    return isPrinted
  }

  /// Whether the decoder takes the bytes for well-formed; `nil` for equal keys in a map, which are well-formed.
  private static func isScanned(_ bytes: UnsafeRawBufferPointer) -> Bool? {
    struct Anything: Decodable { init(from decoder: any Decoder) {} }
    var decoder = CBORDecoder()
    // The notation's limit, without the four levels that the decoder adds for its own types.
    decoder.maximumDepth = 508
    do {
      _ = try decoder.decode(Anything.self, from: Data(bytes))
      return true
    } catch {
      return "\(error)".contains("two entries with the same key") ? nil : false
    }
  }

  /// A decoded value encodes, and its encoding decodes and encodes to the same bytes.
  private static func round<Value: Codable>(_ type: Value.Type, _ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let value = try? CacheArchive.value(type, from: bytes, format: .cbor) else { return false }
    let encoder = CBOREncoder()
    guard let first = try? encoder.encode(value) else { return true }
    guard let again = try? CBORDecoder().decode(type, from: first), let second = try? encoder.encode(again) else {
      preconditionFailure("What was written of a \(type) is not read.")
    }
    precondition(first == second, "What was written of a \(type) is read as another value.")
    return true
  }

  private static func checkObject(_ bytes: UnsafeRawBufferPointer, _ format: ArchiveFormat) -> Bool {
    let data = Data(bytes)
    let object = try? UntrustedBytes.object(data, format: format, allowing: nil)
    let allowed = try? UntrustedBytes.object(data, format: format, allowing: [UntrustedNode.self])
    precondition(object != nil || allowed == nil, "A list of allowed classes allows what is not read without.")
    return object != nil
  }

  /// The first byte is the length of the key, which follows; the rest is the record.
  private static func checkRecord(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let length = bytes.first.map(Int.init), length < bytes.count else { return false }
    let key = UnsafeRawBufferPointer(rebasing: bytes[1..<1 + length])
    let record = UnsafeRawBufferPointer(rebasing: bytes[(1 + length)...])
    let checked = UntrustedBytes.payload(ofRecord: record, key: key, isChecked: true)
    // Without the checksum: the fields behind it must be validated too.
    guard let found = UntrustedBytes.payload(ofRecord: record, key: key, isChecked: false) else {
      precondition(checked == nil, "A record is read only with its checksum.")
      return false
    }
    precondition(found.length >= 0 && found.payload.count <= record.count, "A payload is longer than its record.")
    let sum = found.payload.reduce(0) { $0 &+ Int($1) }
    precondition(sum >= 0)
    if found.payload.count == 32, let pointer = UntrustedBytes.pointer(found.payload) {
      precondition(pointer.written.elementsEqual(found.payload) && pointer.name.hasSuffix(".values"))
      let digits = pointer.name.utf8.prefix(16)
      precondition(digits.allSatisfy { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ".") })
    }
    _ = try? CacheArchive.value(String.self, from: found.payload, format: found.format)
    _ = try? CacheArchive.value([Int32].self, from: found.payload, format: found.format)
    _ = try? CacheArchive.value(Date.self, from: found.payload, format: found.format)
    _ = try? CacheArchive.value(URL.self, from: found.payload, format: found.format)
    _ = try? CacheArchive.value(UUID?.self, from: found.payload, format: found.format)
    _ = try? CacheArchive.value(UntrustedShape.Choice.self, from: found.payload, format: found.format)
    _ = try? UntrustedBytes.object(Data(found.payload), format: found.format, allowing: nil)
    return checked != nil
  }

  private static func checkJournal(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let isRead = checkFrames(bytes)
    // Checksums would stop random bytes, so read them also as a description of a journal.
    var rest = bytes[...]
    func take(_ count: Int) -> [UInt8] {
      let part = Array(rest.prefix(count))
      rest = rest.dropFirst(count)
      return part
    }
    let (segments, padding) = (Int(take(1).first ?? 1), Int(take(1).first ?? 0))
    var frames: [(operation: UInt8, key: [UInt8], record: [UInt8], stamp: UInt64)] = []
    while rest.count >= 4, frames.count < 64 {
      let head = take(4)
      let key = take(Int(head[1]))
      frames.append((head[0] % 4 + 1, key, take(Int(head[2])), UInt64(head[3])))
    }
    // The most segments a journal can have.
    let journal = UntrustedBytes.journal(frames, identifier: 7, segments: segments % 66, padding: padding)
    return journal.withUnsafeBytes { checkFrames($0) } || isRead
  }

  private static func checkFrames(_ bytes: UnsafeRawBufferPointer) -> Bool {
    // Journals are read into aligned memory.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 64)
    defer { copy.deallocate() }
    copy.copyMemory(from: bytes)
    guard let frames = UntrustedBytes.frames(ofJournal: UnsafeRawBufferPointer(copy)) else { return false }
    let total = frames.reduce(0) { $0 + $1.1.count + $1.2.count }
    precondition(total <= bytes.count, "A journal has more in its frames than it is long.")
    for (operation, key, record) in frames where operation == 1 {
      let isRead = key.withUnsafeBytes { key in
        record.withUnsafeBytes { UntrustedBytes.payload(ofRecord: $0, key: key, isChecked: true) != nil }
      }
      precondition(isRead, "A journal would put a record that is not intact.")
    }
    return !frames.isEmpty
  }

  /// Reads bytes, and the same with a valid checksum.
  ///
  /// - Parameter read: Returns the bytes written again.
  private static func check(
    _ bytes: UnsafeRawBufferPointer, or sealed: [UInt8], _ read: (UnsafeRawBufferPointer) -> [UInt8]?
  ) -> Bool {
    func isRead(_ bytes: UnsafeRawBufferPointer) -> Bool {
      guard let written = read(bytes) else { return false }
      precondition(written.withUnsafeBytes { read($0) } == written, "It is read as something else.")
      return true
    }
    return sealed.withUnsafeBytes { isRead($0) } || isRead(bytes)
  }

  private static func checkJSON(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let value = try? JSONParser.value(of: Array(bytes)) else { return false }
    let written = JSONWriter.bytes(of: value)
    precondition((try? JSONParser.value(of: written)) == value, "JSON that was read is written as other JSON.")
    return true
  }
}
