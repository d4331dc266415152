import Foundation
import Reliability
import Testing

import LMDBCaching

/// Past findings of fuzzing: inputs that were misread or crashed the process.
@Suite struct FuzzCorpusTests {
  /// Inputs as base64, as `base64 -w0 .build-fuzz/findings/…` prints them.
  static let inputs: [(kind: UntrustedKind, base64: String, what: String)] = [
    (.cbor, "", "nothing"),
    (.cbor, "ogEBAQ==", "equal keys, and the end too soon"),
    (.cbor, "wkkBAAAAAAAAAAA=", "a bignum"),
    (.graph, "oWRyb2902BuCZU5TVVJMgmFi2CB0aHR0cHMkOi9leGFtcGxlLm9yZy8=", "a base that NSURL takes and URL does not"),
    (.record, "/w==", "a key longer than all"),
    (.json, "Ww==", "an array that does not end"),
  ]

  @Test(arguments: inputs.indices) func inputsAreReadOrAnError(_ index: Int) throws {
    let (kind, base64, what) = Self.inputs[index]
    let data = try #require(Data(base64Encoded: base64), "\(what)")
    // Traps if the decoders disagree.
    data.withUnsafeBytes { _ = kind.check($0) }
  }

  @Test(arguments: UntrustedKind.allCases) func everySeedIsRead(_ kind: UntrustedKind) throws {
    for bytes in try kind.seeds() {
      let isRead = bytes.withUnsafeBytes { kind.check($0) }
      // One of the journals is empty.
      #expect(isRead || kind == .journal)
    }
  }

  private func frames(_ journal: [UInt8]) -> Int? {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: journal.count, alignment: 64)
    defer { copy.deallocate() }
    copy.copyBytes(from: journal)
    return UntrustedBytes.frames(ofJournal: UnsafeRawBufferPointer(copy))?.count
  }

  /// A record under a digest holds its key, which its checksum leaves to the frame's.
  @Test func aFrameWhoseRecordHoldsAnotherKeyIsNone() {
    let key = [UInt8](repeating: UInt8(ascii: "k"), count: 600)
    func count(_ held: [UInt8]) -> Int? {
      var record = key.withUnsafeBytes { key in
        UntrustedBytes.record(
          of: key, format: .bytes, key: key, stamp: 1, expires: 0, cost: 1, holdsKey: true)
      }
      // After the base of the header and the length of the key.
      record.replaceSubrange(32..<632, with: held)
      return frames(UntrustedBytes.journal([(operation: 1, key: key, record: record, stamp: 1)], identifier: 7))
    }
    #expect(count(key) == 1)
    #expect(count(key.dropLast() + [UInt8(ascii: "l")]) == 0)
  }

  /// A segment must start word-aligned, for the loads that follow.
  @Test(arguments: [(0, true), (8, true), (1, false), (3, false), (4, false), (7, false)])
  func onlyAlignedSegmentsAreRead(_ padding: Int, _ isRead: Bool) {
    let frame = (operation: UInt8(2), key: Array("key".utf8), record: [UInt8](), stamp: UInt64(1))
    let journal = UntrustedBytes.journal([frame], identifier: 7, segments: 2, padding: padding)
    #expect((frames(journal) == 1) == isRead)
  }

  /// Such room would move the value without invalidating its checksum.
  @Test(arguments: [UInt8(2), 4, 8]) func aRecordWithRoomForNothingIsNone(_ flag: UInt8) {
    let key = Array("key".utf8)
    let value = [UInt8](1...40)
    let record = key.withUnsafeBytes { key in
      value.withUnsafeBytes {
        UntrustedBytes.record(of: $0, format: .bytes, key: key, stamp: 1, expires: 0, cost: 1, holdsKey: false)
      }
    }
    func isRead(_ record: [UInt8]) -> Bool {
      key.withUnsafeBytes { key in
        record.withUnsafeBytes { UntrustedBytes.payload(ofRecord: $0, key: key, isChecked: false) != nil }
      }
    }
    #expect(isRead(record))
    var changed = record
    changed[6] |= flag
    changed.replaceSubrange(28..<36, with: repeatElement(0, count: 8))
    #expect(!isRead(changed))
  }
}
