import Foundation
import Testing

@testable import CBORCoding

@Suite struct CBORSequenceTests {
  private static let map: [(key: String, value: CBORField)] = [
    ("key", .text("ünï")), ("bytes", .bytes(Data(repeating: 7, count: 300))), ("a", .integer(.init(UInt64.max))),
    ("b", .integer(-1)), ("double", .double(0.1)), ("half", .double(-0.0)), ("yes", .bool(true)), ("none", .null),
    ("list", .list([.integer(1), .list([.text("")])])), ("last", .bytes(Data())),
  ]

  @Test func aMapComesBackAndIsDeterministic() throws {
    let encoded = CBORSequence.encode(Self.map)
    #expect(encoded == CBORSequence.encode(Self.map.reversed()))
    let map = try CBORSequence.map(of: encoded.bytes)
    #expect(map == Dictionary(uniqueKeysWithValues: Self.map.map { ($0.key, $0.value) }))
  }

  /// For each truncation, the extent is more than the given bytes and at most the full length.
  @Test func theExtentOfWhatIsCutOff() throws {
    let encoded = CBORSequence.encode(Self.map)
    for count in 0..<encoded.count {
      guard case .cutOff(let needed) = try CBORSequence.firstExtent(of: Data(encoded.prefix(count)).bytes) else {
        Issue.record("\(count) of \(encoded.count) bytes are taken for all")
        continue
      }
      #expect(needed > count && needed <= encoded.count)
    }
    for rest in [Data(), encoded, Data([0xFF])] {
      #expect(try CBORSequence.firstExtent(of: (encoded + rest).bytes) == .whole(encoded.count))
    }
  }

  /// Lengths that exceed any input.
  @Test(
    arguments: [
      ([0x5B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], Int.max),
      ([0xBB, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], Int.max), ([0x58, 0x05, 0x00], 7),
      ([0xA6, 1, 2, 3, 4, 5, 6, 7], 9), ([0x86, 1, 2], 7), ([], 1), ([0xBF], 2),
    ] as [([UInt8], Int)])
  func lengths(_ bytes: [UInt8], _ needed: Int) throws {
    #expect(try CBORSequence.firstExtent(of: Data(bytes).bytes) == .cutOff(atLeast: needed))
  }

  @Test(
    arguments: [
      [0xFF], [0x1C], [0xA1, 0x01, 0x02], [0xA2, 0x61, 0x61, 0x01, 0x61, 0x61, 0x01], [0xA1, 0x61, 0x61, 0xA0], [0x01],
      [0xA0, 0x00], [0xA1, 0x61, 0xC0, 0x01], [0xA1, 0x61, 0x61, 0xC3, 0x51] + [UInt8](repeating: 0xFF, count: 17),
      [0xA1, 0x61, 0x61] + [UInt8](repeating: 0x81, count: 40) + [0x80],
    ] as [[UInt8]])
  func whatIsNoMapIsAnError(_ bytes: [UInt8]) {
    #expect(throws: CBORCodingError.self) { try CBORSequence.map(of: Data(bytes).bytes) }
  }
}
