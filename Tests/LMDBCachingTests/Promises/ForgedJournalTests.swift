import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Journals of nonexistent processes, with impossible numbers and valid checksums.
@Suite struct ForgedJournalTests {
  typealias Frame = (operation: UInt8, key: [UInt8], record: [UInt8], stamp: UInt64)

  enum Forgery: String, CaseIterable, Sendable {
    case lastStamp = "a put with the greatest stamp"
    case almostLastStamp = "a put with nearly the greatest stamp"
    case noStamp = "a put with the stamp 0"
    case removal = "a removal with the greatest stamp"
    case removalOfAll = "a removal of everything with the greatest stamp"
    case removalOfAllButOne = "a removal of everything with nearly the greatest stamp"
    case removalOfPrefix = "a removal of a prefix with the greatest stamp"
    case removalOfEmptyPrefix = "a removal of the empty prefix with the greatest stamp"
    case descending = "stamps that go down"
    case equal = "one stamp for all"
    case emptyKey = "an empty key"
    case longKey = "a long key"
    case dear = "the greatest costs"
    case barelyStamp = "every operation with the greatest stamp that there can be"
    case ownRecords = "the cache's own records"

    private static let barely: UInt64 = (1 << 62) - 1

    private static func put(_ key: String, _ stamp: UInt64, cost: Int = 1) -> Frame {
      put(Array(key.utf8), stamp, cost: cost)
    }

    private static func put(_ bytes: [UInt8], _ stamp: UInt64, cost: Int = 1) -> Frame {
      let record = bytes.withUnsafeBytes { key in
        Array("forged".utf8).withUnsafeBytes {
          UntrustedBytes.record(
            of: $0, format: .string, key: key, stamp: stamp, expires: 0, cost: cost, holdsKey: !(1...511 ~= key.count))
        }
      }
      return (1, bytes, record, stamp)
    }

    var frames: [Frame] {
      switch self {
      case .lastStamp: [Self.put("a", .max)]
      case .almostLastStamp: [Self.put("a", .max - 0x100)]
      case .noStamp: [Self.put("a", 0), Self.put("b", 0)]
      case .removal: [(2, Array("a".utf8), [], .max)]
      case .removalOfAll: [(3, [], [], .max)]
      case .removalOfAllButOne: [(3, [], [], .max - 0x100)]
      case .removalOfPrefix: [(4, Array("a".utf8), [], .max)]
      case .removalOfEmptyPrefix: [(4, [], [], .max)]
      case .descending: (0..<20).map { Self.put("a", .max - UInt64($0) * 0x100) }
      case .equal: (0..<20).map { Self.put("k\($0 % 3)", 1 << 62) }
      case .emptyKey: [Self.put("", 1 << 62), (2, [], [], 1 << 62)]
      case .longKey: [Self.put(String(repeating: "é", count: 5_000), 1 << 62)]
      case .dear: (0..<5).map { Self.put("k\($0)", 1 << 62, cost: .max) }
      case .barelyStamp:
        [
          Self.put("a", Self.barely), (2, Array("a".utf8), [], Self.barely), (3, [], [], Self.barely),
          (4, Array("a".utf8), [], Self.barely), (5, [UInt8](repeating: 1, count: 8), [], Self.barely),
        ]
      case .ownRecords:
        "jmstp".utf8.flatMap { letter -> [Frame] in
          let key = [0xFF, letter]
          return [Self.put(key, 5), (2, key, [], 6), (4, key, [], 7)]
        }
      }
    }
  }

  private func place(_ journal: [UInt8], _ identifier: UInt64, in cache: ForgedCache) {
    let digits = String(identifier, radix: 16)
    let name = String(repeating: "0", count: 16 - digits.count) + digits
    cache.directory.write(Data(journal), to: "journals/\(name).journal")
  }

  @Test(arguments: Forgery.allCases) func aForgedJournalHarmsNothingThatComesAfterIt(_ forgery: Forgery) throws {
    let cache = try ForgedCache()
    place(UntrustedBytes.journal(forgery.frames, identifier: 7), 7, in: cache)
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// Two journals that disagree on a key, with overlapping stamps.
  @Test func journalsThatOverlapHarmNothing() throws {
    let cache = try ForgedCache()
    for identifier in 1...4 as ClosedRange<UInt64> {
      place(
        UntrustedBytes.journal(Forgery.descending.frames + Forgery.equal.frames, identifier: identifier), identifier,
        in: cache)
    }
    let failures = try cache.use()
    #expect(failures == [])
  }

  @Test(arguments: [(0, 0), (1, 8), (64, 0), (65, 0), (4, 4_096), (64, 8_192)])
  func aForgedHeaderHarmsNothing(_ shape: (segments: Int, padding: Int)) throws {
    let cache = try ForgedCache()
    place(
      UntrustedBytes.journal(
        Forgery.equal.frames, identifier: .max, segments: shape.segments, padding: shape.padding), .max, in: cache)
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// The start of a journal, or extra bytes after it.
  @Test(arguments: [0, 1, 8, 40, 4_095, 4_096, 4_104, 4_160, 4_170, -1, -9])
  func aJournalOfAnyLengthHarmsNothing(_ length: Int) throws {
    let cache = try ForgedCache()
    let whole = UntrustedBytes.journal(Forgery.removalOfAll.frames, identifier: 7)
    place(Array(length < 0 ? whole.dropLast(-length) : whole.prefix(length)), 7, in: cache)
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// The file is sparse.
  @Test func aJournalThatClaimsAGigabyteHarmsNothing() throws {
    let cache = try ForgedCache()
    let journal = UntrustedBytes.journal(Forgery.equal.frames, identifier: 7)
    place(journal, 7, in: cache)
    #expect(truncate(cache.directory.path + "/journals/0000000000000007.journal", 8 << 30) == 0)
    let failures = try cache.use()
    #expect(failures == [])
  }
}
