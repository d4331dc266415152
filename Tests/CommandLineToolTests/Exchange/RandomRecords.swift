import Foundation
import LMDBCaching
import TestSupport

/// Random entries of every kind.
struct RandomRecords {
  private var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed) }

  /// A time in the future, in nanoseconds since 1970.
  private mutating func time() -> Int64 {
    Int64(Date().timeIntervalSince1970) * 1_000_000_000 + 86_400_000_000_000 + Int64(random.below(1_000_000_000_000))
  }

  /// One record for each possible format byte, with distinct keys.
  mutating func records() throws -> [EntryRecord] {
    try (UInt8.min...UInt8.max).map { try record(key(Int($0)), ArchiveFormat(rawValue: $0)) }
  }

  private mutating func record(_ key: String, _ format: ArchiveFormat) throws -> EntryRecord {
    let stored = value(of: format)
    let expires: Int64 = random.below(3) == 0 ? time() : 0
    return try EntryRecord(
      key: key, format: format, stored: stored, created: UInt32(random.below(1 << 31)),
      lastAccess: UInt32(random.below(1 << 31)),
      cost: [0, stored.count, Int(UInt32.max) + random.below(1 << 40), .max][random.below(4)], expires: expires,
      refresh: expires != 0 && random.below(2) == 0 ? time() : 0,
      kept: expires != 0 && random.below(2) == 0 ? time() + 1 : 0, revision: random.below(3) == 0 ? random.next() : 0,
      tagHashes: random.below(3) == 0 ? (0...random.below(64)).map { _ in random.next() } : [],
      uses: UInt8(random.below(4)), isAbsence: false, isTransformed: random.below(8) == 0)
  }

  private mutating func key(_ number: Int) -> String {
    switch number % 4 {
    case 0: number == 0 ? "" : "\(number)" + String(repeating: "long", count: 125 + random.below(200))
    case 1: "\(number)\u{0}\u{7F}\n\t\"\\/\u{2028}"
    case 2: "\(number) é \u{65}\u{301} 👩‍👩‍👧‍👦 \u{FFFF}\u{10FFFF}"
    default: String(repeating: "x", count: 508) + String(1_000 + number).suffix(3)
    }
  }

  private mutating func value(of format: ArchiveFormat) -> Data {
    func bytes(_ word: some FixedWidthInteger) -> Data { withUnsafeBytes(of: word.littleEndian) { Data($0) } }
    let numbers: [Double] = [
      -0.0, -1.5, 0.1, .leastNonzeroMagnitude, .greatestFiniteMagnitude, -.infinity, .nan, .signalingNaN, 1e21,
      Double(bitPattern: 0xFFF8_0000_0000_1234), 123_456_789_012_345_680,
    ]
    let number = numbers[random.below(numbers.count)]
    let integers: [Int64] = [0, -1, .min, .max, 1 << 53, (1 << 53) - 1, -(1 << 53)]
    let integer = integers[random.below(integers.count)]
    // Bytes that are invalid in the format must survive too.
    if random.below(6) == 0 { return Data(random.bytes(random.below(20))) }
    return switch format {
    case .string, .url: Data(["", "text", "ünï\u{0}cödé\r\n", "\u{FEFF}\u{D7FF}"][random.below(4)].utf8)
    case .bool: Data([UInt8(random.below(3))])
    case .signedInteger, .unsignedInteger: bytes(integer)
    case .double, .date: bytes(number.bitPattern)
    case .float: bytes(Float(number).bitPattern)
    case .uuid: Data(random.bytes(16))
    // Some are long enough for the value log.
    default: Data(random.bytes([0, 1, 100, 2_048, 2_049, 70_000][random.below(6)]))
    }
  }
}
