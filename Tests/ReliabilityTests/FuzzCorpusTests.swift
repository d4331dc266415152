import Foundation
import Reliability
import TestSupport
import Testing

import LMDBCaching

/// Untrusted bytes that the decoders must read or refuse. `Scripts/fuzz` tries many more.
@Suite struct FuzzCorpusTests {
  /// Past findings, which were misread or crashed the process, as `base64 -w0 .build-fuzz/findings/…` prints them.
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

  /// No input takes more than 2 s of a processor, even without optimization.
  @Test(arguments: UntrustedKind.allCases) func changedInputsAreReadOrAnError(_ kind: UntrustedKind) throws {
    let seeds = try kind.seeds()
    // One of the journals is empty.
    #expect(kind == .journal || seeds.allSatisfy { seed in seed.withUnsafeBytes { kind.check($0) } })
    for number in 0..<1_000 as Range<UInt64> {
      var random = SeededRandom(number)
      var bytes = seeds.randomElement(using: &random)!
      for _ in 0..<random.below(5) { change(&bytes, seeds, &random) }
      let start = clock()
      // Traps if the decoders disagree.
      bytes.withUnsafeBytes { _ = kind.check($0) }
      #expect(clock() - start < 2, "input \(number)")
    }
  }

  /// The thread's processor time in seconds.
  private func clock() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private func change(_ bytes: inout [UInt8], _ seeds: [[UInt8]], _ random: inout SeededRandom) {
    guard !bytes.isEmpty else { return bytes = random.bytes(random.below(20)) }
    let index = random.below(bytes.count)
    let part = bytes[index..<min(bytes.count, index + 1 + random.below(64))]
    switch random.below(8) {
    case 0: bytes[index] ^= 1 << UInt8(random.below(8))
    case 1: bytes[index] = [0, 1, 0x7F, 0x80, 0xFF, 0x5F, 0x9F, 0xBF, 0xD8, 0x1B, 0xF9][random.below(11)]
    case 2: bytes.removeSubrange(index..<min(bytes.count, index + 1 + random.below(8)))
    case 3: bytes.insert(contentsOf: random.bytes(1 + random.below(8)), at: index)
    case 4: bytes.removeSubrange(index...)
    case 5: bytes.insert(contentsOf: part, at: random.below(bytes.count))
    case 6: bytes.insert(contentsOf: seeds.randomElement(using: &random)!.suffix(64), at: index)
    default:
      // An integer of four or eight bytes, at or near its maximum.
      for offset in part.indices.prefix(random.below(2) == 0 ? 4 : 8) { bytes[offset] = 0xFF }
      bytes[index] = UInt8(truncatingIfNeeded: random.next())
    }
  }

  private func frames(_ journal: [UInt8]) -> Int? {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: journal.count, alignment: 64)
    defer { copy.deallocate() }
    copy.copyBytes(from: journal)
    return UntrustedBytes.frames(ofJournal: UnsafeRawBufferPointer(copy))?.count
  }

  private func record(_ key: [UInt8], _ value: [UInt8], holdsKey: Bool = false) -> [UInt8] {
    key.withUnsafeBytes { key in
      value.withUnsafeBytes {
        UntrustedBytes.record(of: $0, format: .bytes, key: key, stamp: 1, expires: 0, cost: 1, holdsKey: holdsKey)
      }
    }
  }

  /// A record under a digest holds its key, which its checksum leaves to the frame's.
  @Test func aFrameWhoseRecordHoldsAnotherKeyIsNone() {
    let key = [UInt8](repeating: UInt8(ascii: "k"), count: 600)
    for (held, count) in [(key, 1), (key.dropLast() + [UInt8(ascii: "l")], 0)] {
      var record = record(key, key, holdsKey: true)
      // After the base of the header and the length of the key.
      record.replaceSubrange(32..<632, with: held)
      #expect(
        frames(UntrustedBytes.journal([(operation: 1, key: key, record: record, stamp: 1)], identifier: 7)) == count)
    }
  }

  /// A segment must start word-aligned, for the loads that follow.
  @Test(arguments: [(0, true), (8, true), (1, false), (3, false), (4, false), (7, false)])
  func onlyAlignedSegmentsAreRead(_ padding: Int, _ isRead: Bool) {
    let frame = (operation: UInt8(2), key: Array("key".utf8), record: [UInt8](), stamp: UInt64(1))
    let journal = UntrustedBytes.journal([frame], identifier: 7, segments: 2, padding: padding)
    #expect((frames(journal) == 1) == isRead)
  }

  /// Such room would move the value without invalidating its checksum.
  @Test(arguments: [UInt8(0), 2, 4, 8]) func aRecordWithRoomForNothingIsNone(_ flag: UInt8) {
    let key = Array("key".utf8)
    var changed = record(key, [UInt8](1...40))
    changed[6] |= flag
    if flag > 0 { changed.replaceSubrange(28..<36, with: repeatElement(0, count: 8)) }
    let isRead = key.withUnsafeBytes { key in
      changed.withUnsafeBytes { UntrustedBytes.payload(ofRecord: $0, key: key, isChecked: false) != nil }
    }
    #expect(isRead == (flag == 0))
  }
}
