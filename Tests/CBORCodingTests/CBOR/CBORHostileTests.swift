import Foundation
import TestSupport
import Testing

@testable import CBORCoding

@Suite struct CBORHostileTests {
  /// Has every kind of container and value, so that any document reaches some of it.
  struct Everything: Codable, Equatable {
    var plain = PlainShape()
    var wide: WideShape? = WideShape()
    var optional = OptionalShape()
    var payloads = [PayloadShape.none, .one(1), .two(name: "n", PlainShape()), .more([.one(2)])]
    var dictionary = ["a": [1: "b"], "longer key": [:]]
    var date = Date(timeIntervalSinceReferenceDate: 800_000_000.123)
    var url = URL(string: "https://example.org")!
    var uuid = UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F")!
    var decimal = Decimal(string: "123456789012345678901234567890.5")!
    var data = Data([1, 2, 3])
    var numbers: [Double] = [1, 0.1, 1e300]
    var strings = ["x", "日本語"]
    var wides: [Int128] = [.max, 1]
    var many = Dictionary(uniqueKeysWithValues: (0..<40).map { ("k\($0)", $0) })
  }

  /// Reads the bytes in every way: the readers agree on whether they are well-formed.
  func read(
    _ bytes: [UInt8],
    as types: [any Decodable.Type] = [Decoding.self, CBORItem.self, [PayloadShape].self, Everything.self]
  ) {
    let isWellFormed = bytes.withBytes { Self.skipError($0, maximumDepth: 516) } == nil
    let diagnostic = try? CBORDiagnostic(bytes.span.bytes, limit: 60)
    #expect((diagnostic != nil) == isWellFormed && (diagnostic?.text.utf8.count ?? 0) < 100)
    for type in types {
      do {
        _ = try CBORDecoder().decode(type, from: Data(bytes))
        #expect(isWellFormed)
      } catch {
        // This one asks for nothing.
        if type == Decoding.self { #expect(!isWellFormed || "\(error)".contains("same key")) }
      }
    }
  }

  static func skipError(_ bytes: CBORBytes, maximumDepth: Int = 512) -> CBORError? {
    var reader = CBORReader(bytes, maximumDepth: maximumDepth)
    do throws(CBORError) {
      try reader.skip()
      try reader.finish()
    } catch {
      return error
    }
    return nil
  }

  static let documents: [[UInt8]] = {
    let everything = Array(try! CBOREncoder().encode(Everything()))
    let calls = (0..<40).map { Array(try! CBOREncoder().encode(RandomCalls(seed: $0, size: 24))) }
    let items = ([everything] + calls).map { try! CBORItem($0) }
    return items.map(\.encoded) + items.map(\.indefinite) + CBORVector.all.map(\.bytes)
  }()

  static func mutated(_ document: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
    let heads: [UInt8] = [0x5B, 0x7B, 0x9B, 0xBB, 0x9F, 0xBF, 0x5F, 0x7F, 0xFF, 0xC2, 0xC4, 0xDB, 0xF9, 0xA1, 0x81]
    var bytes = document
    for _ in 0...random.below(4) {
      let place = random.below(bytes.count + 1)
      let length = min(bytes.count - place, random.below(30))
      switch random.below(5) {
      case 0 where length > 0: bytes[place] ^= 1 << UInt8(random.below(8))
      case 1: bytes.removeSubrange(place..<place + length)
      case 2: bytes.insert(contentsOf: Array(bytes[place..<place + length]), at: random.below(bytes.count + 1))
      case 3: bytes.insert(contentsOf: random.bytes(length), at: place)
      default: bytes.insert(heads[random.below(heads.count)], at: place)
      }
    }
    return bytes
  }

  @Test func shortInputsAreReadOrRefused() {
    for word in 0...UInt16.max { read([UInt8(word >> 8), UInt8(word & 0xFF)], as: [Decoding.self]) }
    for byte in UInt8.min...UInt8.max { read([byte]) }
  }

  /// A few seeds; `FuzzCorpusTests` and `Scripts/fuzz` try more.
  @Test(arguments: 0..<4) func damagedDocumentsAreReadOrRefused(_ seed: Int) {
    var random = SeededRandom(UInt64(seed))
    for _ in 0..<3_000 {
      read(Self.mutated(Self.documents[random.below(Self.documents.count)], &random))
      read(Self.mutated(Self.documents[0], &random), as: [Everything.self])
    }
  }

  @Test func everyPrefixIsRefused() throws {
    let document = Self.documents[0]
    for count in 0..<document.count {
      #expect(throws: DecodingError.self) { try CBORDecoder().decode(Everything.self, from: Data(document[..<count])) }
    }
    #expect(try CBORDecoder().decode(Everything.self, from: Data(document)) == Everything())
    #expect(throws: DecodingError.self) { try CBORDecoder().decode(Everything.self, from: Data(document + [0])) }
  }

  @Test(arguments: ["9b", "bb", "5b", "7b", "9a", "ba", "5a", "7a"], ["", "c1", "81", "a100"])
  func announcedCountsAreNotBelieved(_ head: String, _ before: String) {
    for count in ["ffffffffffffffff", "7fffffffffffffff", "00000000ffffffff", "4000000000000000"] {
      let data = Data([UInt8](hex: before + head + (head.hasSuffix("b") ? count : String(count.suffix(8))) + "00"))
      for type in [[Int].self, [String: Int].self, Data.self, String.self] as [any Decodable.Type] {
        #expect(throws: DecodingError.self) { _ = try CBORDecoder().decode(type, from: data) }
      }
    }
  }

  // MARK: Size

  /// Four arrays of 256 elements have 1,034 bytes with breaks, and 1,037 with counts.
  @Test(arguments: [1_033, 1_034, 1_036, 1_037]) func theDefiniteFormHasTheSameLimit(_ limit: Int) {
    let arrays = [UInt8](hex: String(repeating: "9f" + String(repeating: "00", count: 256) + "ff", count: 4))
    var decoder = CBORDecoder()
    decoder.longestDocument = limit
    let read = try? decoder.decode([[UInt8]].self, from: Data([0x9F] + arrays + [0xFF]))
    #expect(read?.count == (limit == 1_037 ? 4 : nil))
  }

  /// In time, too.
  @Test func largeMapsAreReadInAnyOrder() throws {
    let keys = (0..<100_000).map { "key \($0)" }
    let sorted = Array(try CBOREncoder().encode(Dictionary(uniqueKeysWithValues: keys.map { ($0, 1) })))
    // As another encoder may write it: keys out of order, indefinite length.
    var random = SeededRandom(7)
    let entries = keys.shuffled(using: &random).flatMap { key -> [UInt8] in CBORItem.text(key).encoded + [1] }
    var decoder = CBORDecoder()
    decoder.userInfo[Decoding.body] =
      { decoder in
        let map = try decoder.container(keyedBy: AnyKey.self)
        for key in keys.reversed() {
          #expect(try map.decode(Int.self, forKey: AnyKey(stringValue: key)) == 1)
          #expect(!map.contains(AnyKey(stringValue: key + "x")))
        }
      } as Decoding.Body
    for document in [sorted, [0xBF] + entries + [0xFF]] {
      _ = try decoder.decode(Decoding.self, from: Data(document))
    }
    let twice: [UInt8] = [0xBF] + entries + CBORItem.text(keys[5]).encoded + [0, 0xFF]
    #expect(throws: DecodingError.self) { try CBORDecoder().decode([String: Int].self, from: Data(twice)) }
    let chunks = Data([0x7F] + Array(repeating: 0x60, count: 1_000_000) + [0xFF])
    #expect(try CBORDecoder().decode(String.self, from: chunks) == "")
  }

  @Test func integersAsKeysAreFound() throws {
    // Also with enough entries to leave the linear search.
    let few: [(key: CBORItem, value: CBORItem)] = [
      (.integer(10), .integer(7)), (.integer(-3), .text("b")), (.text("other"), .null),
    ]
    let more: [(key: CBORItem, value: CBORItem)] = (1_000..<1_100).map { (.integer($0), .integer(0)) }
    for entries in [few, few + more] {
      for bytes in [CBORItem.map(entries).encoded, CBORItem.map(entries).indefinite] {
        #expect(try CBORDecoder().decode(NumberedShape.self, from: Data(bytes)) == NumberedShape(a: 7, b: "b"))
      }
    }
    let numbers = CBORItem.map((-20..<30).map { (.integer($0), .integer($0)) })
    let read = try CBORDecoder().decode([Int: Int].self, from: Data(numbers.encoded))
    #expect(read == Dictionary(uniqueKeysWithValues: (-20..<30).map { ($0, $0) }))
    #expect(try CBORDecoder().decode([String: Int].self, from: Data(numbers.encoded)).count == 50)
  }

  @Test func keysThatAreNoCodingKeysAreNotDropped() throws {
    let keys: [CBORItem] = [.bytes([0x61]), .tag(0, .text("a")), .double(1), .bool(true), .array([])]
    let maps = keys.map { CBORItem.map([(.text("a"), .integer(3)), ($0, .integer(1))]) }
    for bytes in maps.map(\.encoded) + maps.map(\.indefinite) {
      let found = CBORErrorTests.summary {
        try CBORDecoder().decode([[String: Int]].self, from: Data([0x81] + bytes))
      }
      #expect(found == "dataCorrupted at Index 0/0")
      // Unknown integer keys are skipped like unknown names.
      struct Named: Decodable { var a: Int }
      #expect(try CBORDecoder().decode(Named.self, from: Data(bytes)).a == 3)
    }
  }

  @Test func tagsAreLookedThrough() throws {
    func tagged(_ item: CBORItem) -> CBORItem {
      switch item {
      case .array(let items): .tag(55_799, .tag(7, .array(items.map { tagged($0) })))
      case .map(let entries): .tag(55_799, .map(entries.map { ($0.key, tagged($0.value)) }))
      default: .tag(1_234_567, item)
      }
    }
    let item = tagged(try CBORItem(Self.documents[0]))
    #expect(try CBORDecoder().decode(Everything.self, from: Data(item.encoded)) == Everything())
  }
}
